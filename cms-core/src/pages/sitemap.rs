//! The sitemap (sitemaps.org protocol 0.9): one file, or an index of several.

use std::fmt::Write as _;

use super::{Pages, sql};
use crate::{Result, db::args};

/// Most addresses and bytes that the protocol allows in one file.
const MAX_URLS: usize = 50_000;
const MAX_BYTES: u64 = 50 << 20;
/// Rows that are read at once.
const STEP: usize = 1000;

const NAMESPACE: &str = "http://www.sitemaps.org/schemas/sitemap/0.9";

/// One file, and which pages it holds by id.
struct File {
    xml: String,
    first: i64,
    last: i64,
    /// There are pages after the last.
    more: bool,
}

impl Pages {
    /// The published pages as XML: those after the id `after`; without it all, or an index of the
    /// files that hold them. A file ends at 50,000 addresses or at `http.page_limit_bytes`. `base`
    /// is the site's address without a trailing slash.
    ///
    /// # Errors
    /// `unavailable` when the database cannot be reached.
    pub async fn sitemap(&self, base: &str, after: Option<i64>) -> Result<String> {
        let mut file = self.file(base, after.unwrap_or(i64::MIN)).await?;
        if after.is_some() || !file.more {
            return Ok(file.xml);
        }
        let mut xml = beginning("sitemapindex");
        loop {
            let before = file.first.saturating_sub(1);
            let address = format!("{}/sitemap.xml?after={before}", escaped(base));
            let _ = writeln!(xml, "  <sitemap><loc>{address}</loc></sitemap>");
            if !file.more {
                break;
            }
            file = self.file(base, file.last).await?;
        }
        xml.push_str("</sitemapindex>\n");
        Ok(xml)
    }

    async fn file(&self, base: &str, after: i64) -> Result<File> {
        let base = escaped(base);
        let most = self.0.base.settings().http.page_limit_bytes.min(MAX_BYTES);
        let mut file = File { xml: beginning("urlset"), first: 0, last: after, more: false };
        let end = "</urlset>\n";
        let (mut count, mut read) = (0, STEP);
        while read == STEP && !file.more {
            let args = args![file.last, STEP as i64];
            let rows: Vec<(i64, String)> = self.0.base.db().all(sql::SITEMAP, args).await?;
            read = rows.len();
            for (id, url) in rows {
                let slash = if url.starts_with('/') { "" } else { "/" };
                let entry = format!("  <url><loc>{base}{slash}{}</loc></url>\n", escaped(&url));
                let bytes = (file.xml.len() + entry.len() + end.len()) as u64;
                if count > 0 && (count == MAX_URLS || bytes > most) {
                    file.more = true;
                    break;
                }
                file.first = if count == 0 { id } else { file.first };
                (file.last, count) = (id, count + 1);
                file.xml.push_str(&entry);
            }
        }
        file.xml.push_str(end);
        Ok(file)
    }
}

fn beginning(element: &str) -> String {
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<{element} xmlns=\"{NAMESPACE}\">\n")
}

fn escaped(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut out, c| {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\'' => out.push_str("&apos;"),
            '"' => out.push_str("&quot;"),
            ' ' => out.push_str("%20"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {}
            c => out.push(c),
        }
        out
    })
}
