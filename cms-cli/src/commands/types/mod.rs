//! `cms types`: the API as types of another language, made from `/api/openapi.json`

mod typescript;

use std::{io::Write as _, path::PathBuf};

use clap::{Args, Subcommand};
use cms_http::wire::{NoBody, openapi::Read, parameters::NoQuery};
use serde_json::json;

use crate::{
    flags::Flags,
    output::{Done, Output, WholeFile},
    reply,
    site::Site,
};

#[derive(Debug, Subcommand)]
pub(crate) enum TypesCommand {
    /// Print the API as TypeScript, as far as the caller may use it
    #[command(after_help = "Examples:
  cms types typescript --out theme/cms.ts
  cms types typescript --context prod | npx prettier --parser typescript > cms.ts

Works with openapi-fetch: createClient<paths>({ baseUrl: \"https://example.org\" })")]
    Typescript(TypescriptArgs),
}

#[derive(Args, Debug)]
pub(crate) struct TypescriptArgs {
    /// Write into this file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(crate) async fn run(_: &Flags, out: &Output, site: &Site, command: TypesCommand) -> Done {
    let TypesCommand::Typescript(args) = command;
    let (_, document) = reply::call::<Read>(&site.client, &NoQuery {}, &NoBody).await?;
    let text = typescript::types(&document.0);
    let Some(path) = args.out else {
        return match out.json {
            true => Ok(out.data(&json!({"typescript": text}))?),
            false => Ok(out.raw(&text)?),
        };
    };
    let mut file = WholeFile::create(&path)?;
    file.write_all(text.as_bytes())?;
    file.done()?;
    let note = format!("The types are in {}.", path.display());
    out.done(&json!({"file": path}), &note)
}
