//! The sitemap (sitemaps.org protocol 0.9).

use std::fmt::Write as _;

use super::{Pages, sql};
use crate::{Result, db::args};

/// Most addresses that the protocol allows in one file.
const MAX_URLS: usize = 50_000;

impl Pages {
    /// The published pages as XML. `base` is the site's address without a trailing slash.
    ///
    /// # Errors
    /// `unavailable` when the database cannot be reached.
    pub async fn sitemap(&self, base: &str) -> Result<String> {
        let mut xml = String::from(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<urlset \
             xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n",
        );
        let (mut after, mut count) = (i64::MIN, 0);
        loop {
            let rows: Vec<(i64, String)> = self.0.base.db().all(sql::SITEMAP, args![after]).await?;
            let Some((last, _)) = rows.last() else { break };
            after = *last;
            for (_, url) in rows.iter().take(MAX_URLS - count) {
                let slash = if url.starts_with('/') { "" } else { "/" };
                let _ = writeln!(
                    xml,
                    "  <url><loc>{}{slash}{}</loc></url>",
                    escaped(base),
                    escaped(url)
                );
                count += 1;
            }
            if rows.len() < 1000 || count == MAX_URLS {
                break;
            }
        }
        xml.push_str("</urlset>\n");
        Ok(xml)
    }
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
            c if c.is_control() => {}
            c => out.push(c),
        }
        out
    })
}
