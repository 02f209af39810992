//! The sitemap (sitemaps.org protocol 0.9): one file, or an index of several.

use std::fmt::Write as _;

use super::{Pages, sql};
use crate::{Code, Error, Result, db::args};

/// The protocol's limits for one file: addresses and bytes.
const MAX_URLS: usize = 50_000;
const MAX_BYTES: u64 = 50 << 20;
/// Rows read at once.
const STEP: usize = 1000;

const END: &str = "</urlset>\n";
const NAMESPACE: &str = "http://www.sitemaps.org/schemas/sitemap/0.9";

/// The pages of one file: those after an id, up to another id.
#[derive(Clone, Copy)]
struct File {
    after: i64,
    last: i64,
}

impl Pages {
    /// The published pages as XML. With `after`, returns the file that begins after this id (0 for
    /// the first); without it, all pages or an index of the files. A file ends at 50,000 addresses
    /// or at `http.page_limit_bytes`. `base` is the site's address without a trailing slash.
    ///
    /// # Errors
    /// `not_found` when no file begins after that id; `unavailable` when the database cannot
    /// be reached.
    pub async fn sitemap(&self, base: &str, after: Option<i64>) -> Result<String> {
        let base = escaped(base);
        let files = self.files(&base, after).await?;
        match (after, files.as_slice()) {
            (None, [_, _, ..]) => {
                let mut xml = beginning("sitemapindex");
                for file in files {
                    let address = format!("{base}/sitemap.xml?after={}", file.after);
                    let _ = writeln!(xml, "  <sitemap><loc>{address}</loc></sitemap>");
                }
                xml.push_str("</sitemapindex>\n");
                Ok(xml)
            }
            (_, [.., file]) if after.is_none_or(|after| after == file.after) => {
                self.file(&base, *file).await
            }
            _ => Err(Error::new(
                Code::NotFound,
                "No file of the sitemap begins there: /sitemap.xml lists the files.",
            )),
        }
    }

    /// The files, at least one; with `until`, up to the file that begins there. Computes
    /// only sizes.
    async fn files(&self, base: &str, until: Option<i64>) -> Result<Vec<File>> {
        let most = self.0.base.settings().http.page_limit_bytes.min(MAX_BYTES);
        let empty = (beginning("urlset").len() + END.len()) as u64;
        let (mut files, mut file) = (Vec::new(), File { after: 0, last: i64::MIN });
        let (mut count, mut bytes, mut read) = (0, empty, STEP);
        while read == STEP {
            let rows = self.rows(file.last).await?;
            read = rows.len();
            for (id, url) in rows {
                let more = entry_len(base, &url);
                if count > 0 && (count == MAX_URLS || bytes + more > most) {
                    files.push(file);
                    if until == Some(file.after) {
                        return Ok(files);
                    }
                    (file.after, count, bytes) = (file.last, 0, empty);
                }
                (file.last, count, bytes) = (id, count + 1, bytes + more);
            }
        }
        files.push(file);
        Ok(files)
    }

    async fn file(&self, base: &str, file: File) -> Result<String> {
        let mut xml = beginning("urlset");
        // Ids below 1, which somebody may have set, are in the first file.
        let mut after = if file.after == 0 { i64::MIN } else { file.after };
        while after < file.last {
            let rows = self.rows(after).await?;
            let Some((last, _)) = rows.last() else { break };
            after = *last;
            for (_, url) in rows.iter().take_while(|(id, _)| *id <= file.last) {
                let [before, between, behind] = around(url);
                let _ = write!(xml, "{before}{base}{between}{}{behind}", escaped(url));
            }
        }
        xml.push_str(END);
        Ok(xml)
    }

    async fn rows(&self, after: i64) -> Result<Vec<(i64, String)>> {
        self.0.base.db().all(sql::SITEMAP, args![after, STEP as i64]).await
    }
}

/// The texts before the site's address, before the page's address and after it.
fn around(url: &str) -> [&'static str; 3] {
    ["  <url><loc>", if url.starts_with('/') { "" } else { "/" }, "</loc></url>\n"]
}

fn entry_len(base: &str, url: &str) -> u64 {
    let around: usize = around(url).iter().map(|text| text.len()).sum();
    (around + base.len() + pieces(url).map(Piece::len).sum::<usize>()) as u64
}

fn beginning(element: &str) -> String {
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<{element} xmlns=\"{NAMESPACE}\">\n")
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for piece in pieces(text) {
        match piece {
            Piece::Char(c) => out.push(c),
            Piece::Text(text) => out.push_str(text),
        }
    }
    out
}

/// A character as XML writes it.
enum Piece {
    Char(char),
    Text(&'static str),
}

impl Piece {
    fn len(self) -> usize {
        match self {
            Self::Char(c) => c.len_utf8(),
            Self::Text(text) => text.len(),
        }
    }
}

fn pieces(text: &str) -> impl Iterator<Item = Piece> {
    text.chars().map(|c| match c {
        '&' => Piece::Text("&amp;"),
        '<' => Piece::Text("&lt;"),
        '>' => Piece::Text("&gt;"),
        '\'' => Piece::Text("&apos;"),
        '"' => Piece::Text("&quot;"),
        ' ' => Piece::Text("%20"),
        c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => Piece::Text(""),
        c => Piece::Char(c),
    })
}
