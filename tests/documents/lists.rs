//! The table of lists in docs/api.md, compared with their columns. `CMS_WRITE_DOCS=1` writes it.

use cms_core::Cms;

use super::is_table;
use crate::support::Site;

const HEAD: &str = "| list | columns | `search` looks in |\n|---|---|---|\n";

/// Where each list is below `/api/backend`, and its name among the lists of the service.
const LISTS: [(&str, &str); 8] = [
    ("users", "users"),
    ("user_groups", "user_groups"),
    ("keys", "keys"),
    ("origins", "origins"),
    ("webhooks", "webhooks"),
    ("webhooks/events", "events"),
    ("formfunnel/list", "funnels"),
    ("formfunnel/assignable_users", "assignable"),
];

#[tokio::test]
async fn the_table_of_lists_is_that_of_their_columns() {
    let site = Site::open().await;
    let named = |names: Vec<String>| format!("`{}`", names.join("`, `"));
    let rows = LISTS.map(|(path, list)| {
        let columns = site.cms.list_columns(list).into_iter().map(|column| column.name);
        let (columns, searched) = (columns.collect(), Cms::searched_columns(list));
        format!("| `{path}` | {} | {} |\n", named(columns), named(searched))
    });
    is_table("docs/api.md", HEAD, &rows.concat());
}
