//! Northwind and a part of Shopware, adopted as they are: every table and view, read and written on
//! both engines.
//!
//! What the API answers is kept in `third_party/golden`, one file for both engines;
//! `CMS_WRITE_DOCS=1` rewrites it.

mod declare;
mod postgres;
mod read;
mod rules;
mod truth;
mod types;
mod write;

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
};

use serde_json::{Value as Json, json, value::RawValue};

use crate::support::{Site, SiteBuilder, TestDatabase};

#[derive(Clone, Copy, PartialEq)]
enum Sample {
    Northwind,
    Shopware,
}

impl Sample {
    fn name(self) -> &'static str {
        match self {
            Self::Northwind => "northwind",
            Self::Shopware => "shopware",
        }
    }

    fn folder() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("third_party")
    }

    /// The sample as its makers left it, before the service sees it.
    async fn load(self) -> TestDatabase {
        let database = TestDatabase::new().await;
        let engine = if database.is_postgres() { "postgres" } else { "sqlite" };
        for part in ["schema", "data"] {
            let path = Self::folder().join(self.name()).join(format!("{part}.{engine}.sql"));
            database.run(std::fs::read_to_string(path).unwrap()).await;
        }
        database
    }

    /// Every table and view adopted under its own name.
    async fn adopted(self) -> SiteBuilder {
        let database = self.load().await;
        let tables = truth::tables(&database).await;
        Site::on(database).plugin(adopting(self.name(), &tables))
    }

    async fn open(self) -> Site {
        self.adopted().await.open().await
    }

    fn golden(self, file: &str, found: &str) {
        let path = Self::folder().join("golden").join(self.name()).join(file);
        if std::env::var_os("CMS_WRITE_DOCS").is_some() {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            return std::fs::write(path, found).unwrap();
        }
        let expected = std::fs::read_to_string(&path).unwrap_or_default();
        for (n, (found, expected)) in found.lines().zip(expected.lines()).enumerate() {
            assert_eq!(found, expected, "{file}:{}", n + 1);
        }
        assert_eq!(found.lines().count(), expected.lines().count(), "lines of {file}");
        assert_eq!(found, expected, "{file}");
    }
}

/// A plugin that adopts these tables under their own names.
fn adopting(id: &str, names: &[impl AsRef<str>]) -> Json {
    let tables = names.iter().map(|name| json!({"name": name.as_ref(), "adopt": true}));
    json!({"id": id, "tables": tables.collect::<Vec<_>>()})
}

/// A value as a query parameter
fn encoded(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}

fn item(table: &str, parameters: &[(&str, &str)]) -> String {
    let mut path = format!("/api/backend/item?table={}", encoded(table));
    for (name, value) in parameters {
        write!(path, "&{}={}", encoded(name), encoded(value)).unwrap();
    }
    path
}

/// The records of a reply, each with the bytes in which it came.
fn records(body: &str) -> (Vec<String>, Option<String>) {
    #[derive(serde::Deserialize)]
    struct List<'a> {
        #[serde(borrow)]
        data: Vec<&'a RawValue>,
        meta: Json,
    }
    let list: List = serde_json::from_str(body).unwrap_or_else(|e| panic!("{e}: {body}"));
    let next = list.meta["next"].as_str().map(str::to_owned);
    (list.data.into_iter().map(|record| record.get().to_owned()).collect(), next)
}

/// All records through the cursor, `limit` at a time.
async fn walk(site: &Site, table: &str, limit: usize, parameters: &[(&str, &str)]) -> Vec<String> {
    let mut all = Vec::new();
    let mut cursor: Option<String> = None;
    let limit_text = limit.to_string();
    loop {
        let mut with = parameters.to_vec();
        with.push(("limit", &limit_text));
        with.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
        let (page, next) =
            records(&site.admin(&format!("GET {}", item(table, &with))).expect(200).await.text());
        assert!(page.len() <= limit && (next.is_none() || page.len() == limit), "{table} {with:?}");
        all.extend(page);
        assert!(all.len() < 10_000, "{table} {with:?} never ends");
        cursor = next;
        if cursor.is_none() {
            return all;
        }
    }
}

/// Records that match one condition.
async fn matching(site: &Site, table: &str, condition: (&str, &str)) -> Vec<Json> {
    let found = site.get(&item(table, &[condition, ("limit", "500")])).await;
    found.as_array().unwrap().clone()
}
