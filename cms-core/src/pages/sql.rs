//! The statements of the public reads.

crate::db::statements! {
    PUBLIC_SETTINGS = "select name, cast(value as text) from cms_settings where public order by \
                       name limit 1000";
    PAGE_OF_URL = "select id from cms_pages where url_rewrite = $1 and published";
    MENU = "select id, parent_id, title, url, target from cms_menu_items where menu = $1 and \
            language_short = $2 order by sort_order, id limit 1000";
    /// The protocol allows addresses of less than 2,048 characters, the site's own included.
    SITEMAP = "select id, url_rewrite from cms_pages where published and id > $1 \
               and length(url_rewrite) < 2000 order by id limit $2";
}
