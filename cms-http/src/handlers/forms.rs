//! `/api/form/submit` and `/api/backend/forms/submissions`

use std::sync::Arc;

use cms_core::{
    Result,
    forms::{Answered, Received, Submission, SubmissionDetail, SubmissionFilter, WhichForm},
};
use http::header;

use crate::{
    call::Call,
    reauthorizer::Reauthorizer,
    reply::{csv, file::attachment},
    success::Success,
    wire::{
        Data, Done, Early, OneOrPage, Text,
        forms::{Exported, OfForm, WhichSubmissions},
        parameters::{ById, NoQuery},
    },
};

pub(crate) async fn submit(
    call: &Call<'_>,
    _: NoQuery,
    answered: Early<OfForm, Answered>,
) -> Result<Success<Data<Received>>> {
    let forms = call.cms.forms();
    let (form, answered) = answered.find(async |of: OfForm| forms.active(&of.form).await).await?;
    let judged = forms.judge(form, answered)?;
    let mut change = call.change().await?;
    let data = forms.receive(&mut change, judged).await?;
    call.commit(change, Data { data }, false).await
}

pub(crate) async fn read(
    call: &Call<'_>,
    asked: WhichSubmissions,
) -> Result<OneOrPage<Submission, SubmissionDetail>> {
    let forms = call.cms.forms();
    let mut filter = SubmissionFilter::default();
    filter.form = asked.form.map(WhichForm::from);
    filter.since = asked.since.map(|since| since.0);
    filter.until = asked.until.map(|until| until.0);
    filter.spam = asked.spam;
    let paging = asked.limit.after(asked.cursor, asked.count);
    let one = asked.id.map(|id| forms.submission(id));
    call.one_or_page(one, forms.submissions(&filter, &paging)).await
}

pub(crate) async fn delete(call: &Call<'_>, which: ById) -> Result<Success<Done>> {
    let mut change = call.change().await?;
    call.cms.forms().delete_submission(&mut change, which.id).await?;
    call.commit(change, Done, false).await
}

pub(crate) async fn export(call: &Call<'_>, asked: Exported) -> Result<Success<Text>> {
    let mut filter = SubmissionFilter::default();
    filter.since = asked.since.map(|since| since.0);
    filter.until = asked.until.map(|until| until.0);
    filter.spam = asked.spam;
    let mut table = call.cms.forms().export(&WhichForm::from(asked.form), filter).await?;
    if let (true, Some(first)) = (asked.bom.unwrap_or(true), table.names.first_mut()) {
        first.insert(0, '\u{feff}');
    }
    let rows = Arc::new(Reauthorizer::of(call)).watching(csv::rows(table.names, table.rows));
    Ok(Success::streamed(rows).with(header::CONTENT_DISPOSITION, attachment(&table.save_as)))
}
