//! `/api/backend/mail`

use std::time::Duration;

use cms_core::{
    Error, Result,
    mail::{LogFilter, Logged, LoggedDetail, MailAddress, ProviderState},
};

use crate::{
    call::Call,
    request::bad,
    success::Success,
    wire::{
        Data, OneOrPage, Page,
        mail::{MailIds, Requeued, TestMail, WhichMails},
        parameters::NoQuery,
    },
};

/// How long a request waits for the end of a test.
const TEST_TIMEOUT: Duration = Duration::from_secs(20);
/// The most mails that one request sends again.
const MOST_IDS: usize = 500;

pub(crate) async fn providers(call: &Call<'_>, _: NoQuery) -> Result<Page<ProviderState>> {
    call.cms.mail().providers().await.map(Page::whole)
}

pub(crate) async fn log(
    call: &Call<'_>,
    asked: WhichMails,
) -> Result<OneOrPage<Logged, LoggedDetail>> {
    let mails = call.cms.mail();
    let to = asked.to.as_deref().map(MailAddress::parse).transpose();
    let to = to.map_err(|_| bad("to is one address such as name@example.org."))?;
    if asked.purpose.as_deref().is_some_and(|purpose| purpose.contains(char::is_control)) {
        return Err(bad("purpose holds a control character."));
    }
    let mut filter = LogFilter::default();
    filter.status = asked.status.map(|status| status.name().to_owned());
    filter.to = to.map(|to| to.as_str().to_owned());
    filter.purpose = asked.purpose;
    filter.since = asked.since.map_or(0, |since| since.0);
    let paging = asked.limit.after(asked.cursor, asked.count);
    call.one_or_page(asked.id.map(|id| mails.detail(id)), mails.log(&filter, &paging)).await
}

pub(crate) async fn test(
    call: &Call<'_>,
    _: NoQuery,
    asked: TestMail,
) -> Result<Data<LoggedDetail>> {
    let mails = call.cms.mail();
    let to = MailAddress::parse(&asked.to)?;
    let mut change = call.change().await?;
    let claimed = mails.claim_test(&mut change, to, asked.provider.as_deref()).await?;
    let id = claimed.id();
    // A repetition sends nothing again; it gets the mail as it was queued.
    let queued = mails.claimed_detail(&mut change, id).await?;
    call.keep(&mut change, Data { data: queued }, false).await?;
    change.commit().await?;
    // A test that takes longer goes on; then the reply shows it as being sent.
    let _ = tokio::time::timeout(TEST_TIMEOUT, mails.begin(claimed)).await;
    mails.detail(id).await.map(|data| Data { data })
}

pub(crate) async fn retry(
    call: &Call<'_>,
    _: NoQuery,
    which: MailIds,
) -> Result<Success<Data<Requeued>>> {
    let mut ids = which.ids;
    if ids.is_empty() || ids.len() > MOST_IDS {
        let why = format!("1 to {MOST_IDS} ids are expected");
        return Err(Error::invalid_field("ids", "range", why));
    }
    // Sorted, so that two requests lock the rows in the same order.
    ids.sort_unstable();
    ids.dedup();
    let mut change = call.change().await?;
    call.cms.mail().retry(&mut change, &ids).await?;
    call.commit(change, Data { data: Requeued { queued: ids.len() as u64 } }, false).await
}
