//! One call of an operation: its parameters, and its reply as text and as its type.

use std::path::PathBuf;

use cms_core::funnels::FunnelSubmission;
use cms_http::{
    client::{Answer, Ask, Client},
    wire::{
        Data, Noted, OneOrPage, Operation, Page,
        inbox::Inbox,
        parameters::{ById, Limit, Listing, OneOrList},
        users::RecoveryCodes,
    },
};
use serde_json::{Value as Json, json};

use crate::output::{Done, Exit, Failure, Output, SecretFile};

/// Calls an operation. Returns its reply as text, for `--json`, and as its type.
pub(crate) async fn call<O: Operation>(
    client: &Client,
    query: &O::Query,
    body: &O::Body,
) -> Done<(Answer, O::Reply)> {
    let answer = client.send(Ask::of::<O>(query, body)?).await?;
    let reply = answer.read::<O>()?;
    Ok((answer, reply))
}

/// The content of a reply, or only the id of a row and the secret that is shown once.
type Once<R> = Result<R, (Json, String)>;

/// As [`call`], for a reply with a secret that only this reply holds.
pub(crate) async fn call_once<O: Operation>(
    client: &Client,
    query: &O::Query,
    body: &O::Body,
) -> Done<(Answer, Once<O::Reply>)> {
    let answer = client.send(Ask::of::<O>(query, body)?).await?;
    let reply = match (answer.read::<O>(), answer.only_secret()) {
        (Ok(reply), _) => Ok(reply),
        (Err(_), Some(only)) => Err(only),
        (Err(error), None) => return Err(error.into()),
    };
    Ok((answer, reply))
}

/// Reports a failure to show a secret that is already in force; `again` makes another one.
pub(crate) fn given<T>(shown: Done<T>, secret: &str, again: &str) -> Done<T> {
    shown.map_err(|failure| {
        let what = format!("{secret} counts, but could not be shown: {}", failure.what);
        Failure::new(Exit::Partly, what).hint(again)
    })
}

/// As [`call`], for a reply with one thing. None: the write is done, and the caller may
/// see only the id.
pub(super) async fn written<O: Operation<Reply: Single>>(
    client: &Client,
    query: &O::Query,
    body: &O::Body,
) -> Done<(Answer, Option<<O::Reply as Single>::One>)> {
    let answer = client.send(Ask::of::<O>(query, body)?).await?;
    match answer.read::<O>() {
        Err(_) if answer.only_id().is_some() => Ok((answer, None)),
        read => {
            let one = read?.one();
            let one = one.ok_or_else(|| Failure::unexpected("it holds no single record"))?;
            Ok((answer, Some(one)))
        }
    }
}

/// The one thing in the reply of an operation.
pub(crate) async fn data<O: Operation<Reply: Single>>(
    client: &Client,
    query: &O::Query,
    body: &O::Body,
) -> Done<<O::Reply as Single>::One> {
    let reply = client.call::<O>(query, body).await?;
    reply.one().ok_or_else(|| Failure::unexpected("it holds a list instead of one record"))
}

/// Makes new codes for the user, and writes them into a new file or prints them.
pub(crate) async fn renew_codes<O: Operation<Reply = Data<RecoveryCodes>>>(
    out: &Output,
    client: &Client,
    (query, body): (&O::Query, &O::Body),
    file: Option<PathBuf>,
    (id, user): &(i64, String),
) -> Done {
    let file = file.map(SecretFile::reserve).transpose()?;
    let (answer, codes) = match call::<O>(client, query, body).await {
        Ok((answer, reply)) => (answer, reply.data.recovery_codes),
        Err(failure) => return Err(SecretFile::given_up(file, failure)),
    };
    let show = || {
        if let Some(mut file) = file {
            file.write(&codes)?;
            out.note(&format!(
                "The recovery codes of {user} are in {}; they are shown nowhere else.",
                file.path().display()
            ));
            return if out.json { Ok(out.data(&json!({"user": id}))?) } else { Ok(()) };
        }
        if out.json {
            return Ok(out.line(&answer.body)?);
        }
        out.note(&format!("Recovery codes of {user}, shown this once; each works once."));
        Ok(out.raw(&codes.iter().map(|code| format!("{code}\n")).collect::<String>())?)
    };
    let secret = format!("the list of new recovery codes of {user}");
    given(show(), &secret, "the same again, for other codes")
}

/// A page of a list.
pub(crate) fn list_query(limit: Limit, cursor: Option<String>) -> OneOrList {
    OneOrList::page(limit, cursor)
}

/// A page of a list whose rows have no id.
pub(crate) fn listing(limit: Limit, cursor: Option<String>) -> Listing {
    Listing { limit, cursor, count: None }
}

/// One row of a list.
pub(crate) fn one(id: i64) -> OneOrList {
    OneOrList { id: Some(id), ..OneOrList::default() }
}

/// The row to act on.
pub(crate) fn by_id(id: i64) -> ById {
    ById { id }
}

/// A reply that may hold one thing.
pub(crate) trait Single {
    /// The thing.
    type One;

    /// The thing, unless the reply holds a list.
    fn one(self) -> Option<Self::One>;
}

/// A reply that may hold a page of a list.
pub(crate) trait Paged {
    /// A row of the list.
    type Row;

    /// The page, unless the reply holds one thing.
    fn page(self) -> Option<Page<Self::Row>>;
}

impl<T> Single for Data<T> {
    type One = T;

    fn one(self) -> Option<T> {
        Some(self.data)
    }
}

impl<T> Single for Noted<T> {
    type One = T;

    fn one(self) -> Option<T> {
        Some(self.data)
    }
}

impl<T, One> Single for OneOrPage<T, One> {
    type One = One;

    fn one(self) -> Option<One> {
        match self {
            Self::One(one) => Some(one.data),
            Self::Page(_) => None,
        }
    }
}

impl<T> Paged for Page<T> {
    type Row = T;

    fn page(self) -> Option<Self> {
        Some(self)
    }
}

impl Paged for Inbox {
    type Row = FunnelSubmission;

    fn page(self) -> Option<Page<FunnelSubmission>> {
        Some(self.into())
    }
}

impl<T, One> Paged for OneOrPage<T, One> {
    type Row = T;

    fn page(self) -> Option<Page<T>> {
        match self {
            Self::Page(page) => Some(page),
            Self::One(_) => None,
        }
    }
}
