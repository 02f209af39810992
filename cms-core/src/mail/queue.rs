//! Queues mails in the change of what causes them.

use super::{Mail, MailId, Mails, ration, sql::queue as sql};
use crate::{Change, Millis, Result};

/// Milliseconds of a day.
const DAY_MS: i64 = 86_400_000;

/// The day of a moment, counted from 1970.
pub(super) fn day(now: Millis) -> i64 {
    now.div_euclid(DAY_MS)
}

impl Mails {
    /// Writes the mail into the outbox, in `change`. It is sent after the commit; a dropped change
    /// sends nothing. The Message-ID is made here, so it is the same in every attempt.
    ///
    /// An automatic reply beyond the ration, or to a robot, is recorded as `dropped`, with the
    /// reason. Without a provider mails wait.
    ///
    /// # Errors
    /// `validation_failed` for what cannot be sent; as every write.
    pub async fn queue(&self, change: &mut Change, mail: &Mail) -> Result<MailId> {
        let mail = mail.checked()?;
        if let Some(once) = &mail.once
            && let Some(id) = sql::with_key(change, once).await?
        {
            return Ok(id);
        }
        let dropped = match mail.auto_reply {
            true => self.refused_reply(change, &mail).await?,
            false => None,
        };
        let row = sql::NewRow { message_id: self.message_id()?, dropped, mail: &mail };
        match (sql::add(change, row).await?, &mail.once) {
            (Some(id), _) => Ok(id),
            // Another change has queued it meanwhile.
            (None, once) => {
                let found = sql::with_key(change, once.as_deref().unwrap_or_default()).await?;
                found.ok_or_else(|| crate::Error::internal("a queued mail is not there"))
            }
        }
    }

    /// Why an automatic reply is not sent; else counts it.
    async fn refused_reply(&self, change: &mut Change, mail: &Mail) -> Result<Option<String>> {
        let sender = self.0.sender.as_ref().map(|sender| &sender.address);
        let own: Vec<_> = sender.map(|sender| sender.parts().1).into_iter().collect();
        let site = self.0.site_host.as_deref();
        let own: Vec<_> = own.into_iter().chain(site).collect();
        if let Some(why) = ration::refused(&mail.to, sender, &own) {
            return Ok(Some(why));
        }
        let most = self.0.base.settings().mail.auto_reply_per_day;
        let day = day(change.now());
        let most_rows = i64::try_from(most).unwrap_or(i64::MAX);
        if most > 0 && sql::take_ration(change, &mail.to.mailbox(), day, most_rows).await? {
            return Ok(None);
        }
        Ok(Some(format!("the address has had {most} automatic replies today")))
    }

    fn message_id(&self) -> Result<String> {
        let base = &self.0.base;
        let sender = self.0.sender.as_ref().map(|sender| sender.address.parts().1);
        let domain = sender.or(self.0.site_host.as_deref()).unwrap_or("localhost");
        Ok(format!("<{}@{domain}>", base.random().uuid_v7(base.clock())?))
    }
}
