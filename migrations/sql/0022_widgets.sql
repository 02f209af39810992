-- The kinds of widgets that can be placed on pages. Those of plugins are registered when the plugin
-- is installed, and again only when it is installed again.
CREATE TABLE cms_page_widgets (
    name TEXT PRIMARY KEY,
    -- Null: built in.
    plugin TEXT,
    -- Its group in the picker.
    widget_group TEXT NOT NULL,
    group_title TEXT NOT NULL,
    title TEXT NOT NULL,
    subtitle TEXT,
    -- File of the icon.
    icon TEXT NOT NULL,
    -- Name of the component that shows it.
    template TEXT NOT NULL,
    -- Lists of fields as JSON; those of the items of a repeater.
    menu TEXT NOT NULL,
    item_menu TEXT NOT NULL DEFAULT '[]',
    version TEXT NOT NULL,
    -- Among the widgets of its plugin.
    sort_order BIGINT NOT NULL
) {{strict}};
