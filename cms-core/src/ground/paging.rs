//! Pages of lists, read by key; rows are counted only on request. A cursor is the place where the
//! next page starts, sealed.

use aes_gcm_siv::{
    Aes256GcmSiv, KeyInit, Nonce,
    aead::{Aead, Payload},
};
use data_encoding::BASE64URL_NOPAD;

use super::{Code, Error, Random, Result, crypto::hmac_sha256};

/// Rows of a page by default.
pub const DEFAULT_LIMIT: u32 = 50;
/// Rows of a page at most.
pub const MAX_LIMIT: u32 = 500;
/// Begins every cursor, so that none begins with the `-` of an option on a command line.
const BEGIN: char = 'c';

/// One page of a list, and the cursor of the next.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Page<T> {
    /// The rows.
    pub data: Vec<T>,
    /// The number of rows asked for.
    pub limit: u32,
    /// The cursor of the next page, an opaque text; `None` at the end.
    pub next: Option<String>,
    /// All rows that match, when the query counts them.
    pub total: Option<i64>,
}

/// Which page of a list is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Paging {
    /// Rows of the page, 1 to [`MAX_LIMIT`].
    pub limit: u32,
    /// `next` of the previous page; `None` for the first page.
    pub cursor: Option<String>,
    /// The order.
    pub direction: Direction,
    /// Also count all rows.
    pub count: bool,
}

impl Paging {
    /// The first page, in the list's own order.
    #[must_use]
    pub fn first(limit: u32) -> Self {
        Self { limit, cursor: None, direction: Direction::default(), count: false }
    }
}

impl Default for Paging {
    fn default() -> Self {
        Self::first(DEFAULT_LIMIT)
    }
}

/// The order of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// The list's own order: by id, or newest first.
    #[default]
    Forward,
    /// The reverse order, which few lists have.
    Backward,
}

/// The lists with cursors of this module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListName {
    Audit,
    Deliveries,
    Jobs,
    LoginAttempts,
    Mails,
    Messages,
    PageLinks,
    PagePlans,
    Revisions,
    Sessions,
    Submissions,
    TaskRuns,
}

/// A list as its cursors name it.
pub(crate) struct List<'a> {
    cursors: &'a Cursors,
    name: ListName,
    of: String,
}

impl<'a> List<'a> {
    pub(crate) fn new(cursors: &'a Cursors, name: ListName) -> Self {
        Self { cursors, name, of: String::new() }
    }

    /// Limits the list to a selection. Its cursors are refused for any other selection.
    pub(crate) fn of(self, selection: impl std::fmt::Debug) -> Self {
        Self { of: format!("{selection:?}"), ..self }
    }

    fn named(&self, direction: Direction) -> String {
        format!("{:?} {direction:?} {}", self.name, self.of)
    }
}

impl<T> Page<T> {
    /// A page of a list sorted by id, ascending. `read(after, limit)` returns the rows.
    ///
    /// # Errors
    /// `bad_query` for a cursor of another list, or for backward order.
    pub(crate) async fn by_id(
        list: List<'_>,
        paging: &Paging,
        read: impl AsyncFnOnce(i64, i64) -> Result<Vec<T>>,
        id: impl Fn(&T) -> i64,
    ) -> Result<Self> {
        Self::from_id(list, paging, i64::MIN, read, id).await
    }

    /// As [`Page::by_id`], descending. `read(before, limit)` returns the rows.
    pub(crate) async fn newest_first(
        list: List<'_>,
        paging: &Paging,
        read: impl AsyncFnOnce(i64, i64) -> Result<Vec<T>>,
        id: impl Fn(&T) -> i64,
    ) -> Result<Self> {
        Self::from_id(list, paging, i64::MAX, read, id).await
    }

    async fn from_id(
        list: List<'_>,
        paging: &Paging,
        start: i64,
        read: impl AsyncFnOnce(i64, i64) -> Result<Vec<T>>,
        id: impl Fn(&T) -> i64,
    ) -> Result<Self> {
        if paging.direction == Direction::Backward {
            return Err(Error::new(Code::BadQuery, "This list has only one order."));
        }
        let parse = |bytes: &[u8]| bytes.try_into().ok().map(i64::from_be_bytes);
        let read = async |last: Option<i64>, limit| read(last.unwrap_or(start), limit).await;
        Self::by_key(list, paging, parse, read, |row| id(row).to_be_bytes().to_vec()).await
    }

    /// As [`Page::by_id`], sorted by another key, in both directions. `key` encodes where a row
    /// stands and `parse` decodes it. `read` gets `None` for the first page.
    ///
    /// # Errors
    /// `bad_query` for a cursor of another list or direction.
    pub(crate) async fn by_key<K>(
        list: List<'_>,
        paging: &Paging,
        parse: impl FnOnce(&[u8]) -> Option<K>,
        read: impl AsyncFnOnce(Option<K>, i64) -> Result<Vec<T>>,
        key: impl Fn(&T) -> Vec<u8>,
    ) -> Result<Self> {
        let (named, limit) = (list.named(paging.direction), paging.limit);
        let place =
            |cursor: &String| parse(&list.cursors.open(&named, cursor)?).ok_or_else(foreign);
        let last = paging.cursor.as_ref().map(place).transpose()?;
        let mut data = read(last, i64::from(limit) + 1).await?;
        let more = data.len() > limit as usize;
        data.truncate(limit as usize);
        let last = data.last().filter(|_| more);
        let next = last.map(|last| list.cursors.seal(&named, &key(last))).transpose()?;
        Ok(Self { data, limit, next, total: None })
    }

    /// Adds the number of all rows, if `paging` asks for it.
    pub(crate) async fn counted(
        self,
        paging: &Paging,
        count: impl AsyncFnOnce() -> Result<i64>,
    ) -> Result<Self> {
        let total = if paging.count { Some(count().await?) } else { None };
        Ok(Self { total, ..self })
    }

    pub(crate) fn map<U>(self, change: impl FnMut(T) -> U) -> Page<U> {
        Page {
            data: self.data.into_iter().map(change).collect(),
            limit: self.limit,
            next: self.next,
            total: self.total,
        }
    }
}

/// Seals cursors with keys made from the site's secrets: all processes of a site understand each
/// other's cursors, even after a restart.
///
/// A cursor is `c` and the base64url of ciphertext and tag (AES-256-GCM-SIV, RFC 8452). The list is
/// its associated data. The nonce is always the same, so a page keeps its cursor; with this
/// cipher a fixed nonce reveals only whether two cursors are equal. Clients can neither read nor
/// make a cursor, so what a cursor holds needs no further check.
#[derive(Clone)]
pub struct Cursors(Vec<Keys>);

#[derive(Clone)]
struct Keys {
    cipher: Aes256GcmSiv,
    digest: [u8; 32],
}

impl std::fmt::Debug for Cursors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Cursors(***)")
    }
}

impl Cursors {
    /// The first secret seals, all open. Without a secret the cursors last as long as this process.
    pub(crate) fn new<'s>(
        secrets: impl IntoIterator<Item = &'s str>,
        random: &Random,
    ) -> Result<Self> {
        let mut keys: Vec<Keys> = secrets.into_iter().map(|one| Keys::of(one.as_bytes())).collect();
        if keys.is_empty() {
            keys.push(Keys::of(&random.bytes::<32>()?));
        }
        Ok(Self(keys))
    }

    /// The cursor of `place` in `list`. [`Cursors::open`] needs the same `list`.
    ///
    /// # Errors
    /// `internal_error` for a place that is too long to encrypt.
    pub fn seal(&self, list: &str, place: &[u8]) -> Result<String> {
        let Some(keys) = self.0.first() else { return Err(Error::internal("no key for cursors")) };
        let payload = Payload { msg: place, aad: list.as_bytes() };
        let sealed = keys.cipher.encrypt(&Nonce::default(), payload);
        let sealed = sealed.map_err(|_| Error::internal("a cursor cannot be sealed"))?;
        let mut cursor = String::from(BEGIN);
        BASE64URL_NOPAD.encode_append(&sealed, &mut cursor);
        Ok(cursor)
    }

    /// A digest of `text` that nobody can make without the site's secrets: 32 hexadecimal digits.
    pub(crate) fn digest(&self, what: &str, text: &str) -> String {
        let digest = self.digests(what, text).next().unwrap_or_default();
        data_encoding::HEXLOWER.encode(&digest)
    }

    /// As [`Cursors::digest`], in bytes: by the present secret, then by earlier ones.
    pub(crate) fn digests<'c>(
        &'c self,
        what: &str,
        text: &str,
    ) -> impl Iterator<Item = [u8; 16]> + use<'c> {
        let named = [what.as_bytes(), text.as_bytes()].join(&0_u8);
        self.0.iter().map(move |keys| {
            let mut digest = [0; 16];
            digest.copy_from_slice(&hmac_sha256(&keys.digest, &named)[..16]);
            digest
        })
    }

    /// The place that `cursor` was made of.
    ///
    /// # Errors
    /// `bad_query` for a cursor of another list or another site, and for a forged one.
    pub fn open(&self, list: &str, cursor: &str) -> Result<Vec<u8>> {
        let text = cursor.strip_prefix(BEGIN).ok_or_else(foreign)?;
        let sealed = BASE64URL_NOPAD.decode(text.as_bytes()).map_err(|_| foreign())?;
        let payload = || Payload { msg: &sealed, aad: list.as_bytes() };
        let open = |keys: &Keys| keys.cipher.decrypt(&Nonce::default(), payload()).ok();
        self.0.iter().find_map(open).ok_or_else(foreign)
    }
}

impl Keys {
    fn of(secret: &[u8]) -> Self {
        let cipher = hmac_sha256(secret, b"cms cursors: cipher");
        Self {
            cipher: Aes256GcmSiv::new(&cipher.into()),
            // This label is older than its use and cannot change: stored digests depend on it.
            digest: hmac_sha256(secret, b"cms cursors: nonce"),
        }
    }
}

pub(crate) fn foreign() -> Error {
    Error::new(
        Code::BadQuery,
        "This cursor is not from this list: take `meta.next` of a reply with the same sort and \
         filters.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    fn cursors(secrets: &[&str]) -> Cursors {
        Cursors::new(secrets.iter().copied(), &Random::seeded(1)).expect("keys")
    }

    async fn page(list: ListName, paging: &Paging) -> Result<Page<i64>> {
        let read = async |after: i64, limit: i64| {
            Ok((1..=5).filter(|id| *id > after).take(limit as usize).collect())
        };
        Page::by_id(List::new(&cursors(&["secret"]), list), paging, read, |id| *id).await
    }

    #[tokio::test]
    async fn a_cursor_of_one_list_is_refused_by_another() {
        let mut paging = Paging::first(2);
        let first = page(ListName::Mails, &paging).await.expect("a page");
        assert_eq!(first.data, [1, 2]);
        paging.cursor = first.next;
        let second = page(ListName::Mails, &paging).await.expect("a page");
        assert_eq!(second.data, [3, 4]);
        for list in [ListName::Jobs, ListName::Messages, ListName::Sessions] {
            let refused = page(list, &paging).await.expect_err("of another list");
            assert_eq!(refused.code(), Code::BadQuery, "{list:?}");
        }
        paging.direction = Direction::Backward;
        assert!(page(ListName::Mails, &paging).await.is_err(), "the list has only one order");
    }

    #[tokio::test]
    async fn a_cursor_of_one_direction_is_refused_by_the_other() {
        let page = async |paging: &Paging| {
            let read = async |_: Option<()>, _| Ok(vec![1, 2]);
            let cursors = cursors(&["secret"]);
            let list = List::new(&cursors, ListName::Messages).of("a");
            Page::by_key(list, paging, |_| Some(()), read, |_| Vec::new()).await
        };
        let mut paging = Paging { direction: Direction::Backward, ..Paging::first(1) };
        paging.cursor = page(&paging).await.expect("a page").next;
        assert!(page(&paging).await.is_ok());
        paging.direction = Direction::Forward;
        assert!(page(&paging).await.is_err());
    }

    #[test]
    fn a_cursor_opens_only_on_its_own_site_and_list() {
        let sealed = cursors(&["a"]).seal("blog", b"[7]").expect("sealed");
        assert_eq!(sealed, cursors(&["a"]).seal("blog", b"[7]").expect("sealed"), "not stable");
        assert_eq!(cursors(&["a"]).open("blog", &sealed).expect("opened"), b"[7]");
        assert_eq!(cursors(&["b", "a"]).open("blog", &sealed).expect("an old key"), b"[7]");
        for (secrets, list) in [(&["a"][..], "news"), (&["b"], "blog"), (&[], "blog")] {
            assert!(cursors(secrets).open(list, &sealed).is_err(), "{secrets:?} {list}");
        }
        assert!(!sealed.contains(&BASE64URL_NOPAD.encode(b"[7]")));
        assert_eq!(sealed.len(), 27);
        assert!(sealed.starts_with('c'), "`-` would make it an option");
    }

    #[test]
    fn no_changed_cursor_opens() {
        let cursors = cursors(&["a"]);
        let sealed = cursors.seal("blog", b"[7]").expect("sealed");
        for at in 0..sealed.len() {
            let mut changed = sealed.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).expect("ASCII");
            assert!(cursors.open("blog", &changed).is_err(), "{changed}");
            assert!(cursors.open("blog", &sealed[..at]).is_err());
        }
    }
}
