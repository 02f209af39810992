//! Statements of funnels as they are drawn.

use serde_json::Value as Json;

use crate::{
    Change, Error, Result,
    change::{Reader, is_unique_violation},
    db::{Statement, args, read, record, statements},
    funnels::{
        graph::{Edge, Node},
        header::Header,
        record::{EmailRouting, Funnel, FunnelEdge, FunnelNode},
        rules::Rule,
    },
    items::{Made, OwnColumn, RowList},
};

fn flag(value: bool) -> Result<i64> {
    Ok(i64::from(value))
}

record! { Funnel: funnel_columns {
    id: "f.id",
    name: "f.name",
    slug: "f.slug",
    status: "f.status",
    start_node_id: "f.start_node_id",
    save_abandoned: "f.save_abandoned" => flag,
    abandon_after_min: "f.abandon_after_min",
    settings_json: "f.settings_json" => read::json,
    base_id: "f.base_id",
    language_short: "f.language_short",
    rev: "f.rev",
    version: "v.version",
    published_at: "v.published_at" => read::optional_time,
    created_at: "f.created_at" => read::time,
    updated_at: "f.updated_at" => read::time,
} }

record! { FunnelNode: node_columns {
    id: "id",
    kind: "type",
    name: "name",
    position_x: "position_x",
    position_y: "position_y",
    config_json: "config_json" => read::json,
    sort_order: "sort_order",
} }

record! { FunnelEdge: edge_columns {
    id: "id",
    from_node_id: "from_node_id",
    to_node_id: "to_node_id",
    branch_label: "branch_label",
    sort_order: "sort_order",
} }

record! { EmailRouting: rule_columns {
    id: "id",
    condition_json: "condition_json" => read::optional_json,
    recipients: "recipients",
    cc: "cc",
    bcc: "bcc",
    subject: "subject",
    body_html: "body_html",
    auto_reply_enabled: "auto_reply_enabled" => flag,
    auto_reply_subject: "auto_reply_subject",
    auto_reply_body_html: "auto_reply_body_html",
    trigger_event: "trigger_event",
    sort_order: "sort_order",
    is_active: "is_active" => flag,
} }

macro_rules! funnels {
    ($where:literal) => {
        concat!(
            "select ",
            funnel_columns!(),
            " from cms_formfunnels f left join cms_formfunnel_versions v on v.id = \
             f.published_version_id where f.status <> 'deleted' and ",
            $where
        )
    };
}

macro_rules! of_funnel {
    ($columns:expr, $table:literal) => {
        concat!(
            "select ",
            $columns,
            " from ",
            $table,
            " where funnel_id = $1 order by sort_order, id"
        )
    };
}

/// Funnels as a list.
pub(crate) static LIST: RowList = RowList {
    name: "The list of funnels",
    table: "cms_formfunnels",
    columns: &[
        OwnColumn::integer("id"),
        OwnColumn::text("name").searched(),
        OwnColumn::text("slug").searched(),
        OwnColumn::text("status"),
        OwnColumn::text("language_short").folded(),
        OwnColumn::integer("base_id").nullable(),
        OwnColumn::integer("rev"),
        OwnColumn::time("created_at"),
        OwnColumn::time("updated_at"),
    ],
    rows: Statement::new(concat!(module_path!(), "::LIST"), funnels!("f.id in")),
    made: Made::new(),
};

statements! {
    BY_ID = funnels!("f.id = $1");
    BY_SLUG = funnels!("f.slug = $1 order by f.id limit 100");
    /// Locks the funnel until the change ends.
    LOCK = "update cms_formfunnels set rev = rev where id = $1";
    NODES = of_funnel!(node_columns!(), "cms_formfunnel_nodes");
    NODES_AFTER = "select id, funnel_id, type, cast(config_json as text) from \
                   cms_formfunnel_nodes where id > $1 order by id limit $2";
    EDGES = of_funnel!(edge_columns!(), "cms_formfunnel_edges");
    RULES = of_funnel!(rule_columns!(), "cms_formfunnel_email_routing");
    IS_TAKEN = "select id from cms_formfunnels where slug = $1 and language_short = $2";
    /// The funnel of a family in this language, also if it is written in another case; except $3.
    IN_LANGUAGE = "select id from cms_formfunnels where (id = $1 or base_id = $1) \
                   and lower(language_short) = lower($2) and id <> $3 limit 1";
    /// The first of the language versions of a funnel.
    FIRST_VERSION = "select id from cms_formfunnels where base_id = $1 order by id limit 1";
    /// Makes $2 the base of all language versions of $1.
    HAND_ON = "update cms_formfunnels set base_id = case when id = $2 then null else $2 end \
               where base_id = $1";
    HAND_ON_LIVE = "update cms_formfunnels set live_base_id = case when id = $2 then null \
                    else $2 end where live_base_id = $1";
    INSERT = "insert into cms_formfunnels (name, slug, base_id, language_short, rev, created_at, \
              updated_at) values ($1, $2, $3, $4, 0, $5, $5) returning id";
    UPDATE = "update cms_formfunnels set name = $2, slug = $3, start_node_id = $4, \
              save_abandoned = $5, abandon_after_min = $6, settings_json = $7, base_id = $8, \
              language_short = $9, rev = rev + 1, updated_at = $10 where id = $1";
    RAISE = "update cms_formfunnels set rev = rev + 1, updated_at = $2 where id = $1";
    TAKE_OFF = "update cms_formfunnels set status = $2, published_version_id = null, \
                live_slug = null, live_language = null, live_base_id = null where id = $1";
    DELETE = "delete from cms_formfunnels where id = $1";
    INSERT_NODE = "insert into cms_formfunnel_nodes (funnel_id, type, name, position_x, \
                   position_y, config_json, sort_order) values ($1, $2, $3, $4, $5, $6, $7) \
                   returning id";
    UPDATE_NODE = "update cms_formfunnel_nodes set type = $2, name = $3, position_x = $4, \
                   position_y = $5, config_json = $6, sort_order = $7 where id = $1";
    DELETE_NODE = "delete from cms_formfunnel_nodes where id = $1";
    INSERT_EDGE = "insert into cms_formfunnel_edges (funnel_id, from_node_id, to_node_id, \
                   branch_label, sort_order) values ($1, $2, $3, $4, $5) returning id";
    UPDATE_EDGE = "update cms_formfunnel_edges set from_node_id = $2, to_node_id = $3, \
                   branch_label = $4, sort_order = $5 where id = $1";
    DELETE_EDGE = "delete from cms_formfunnel_edges where id = $1";
    INSERT_RULE = "insert into cms_formfunnel_email_routing (funnel_id, condition_json, \
                   recipients, cc, bcc, subject, body_html, auto_reply_enabled, \
                   auto_reply_subject, auto_reply_body_html, trigger_event, sort_order, is_active) \
                   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)";
    UPDATE_RULE = "update cms_formfunnel_email_routing set condition_json = $2, recipients = $3, \
                   cc = $4, bcc = $5, subject = $6, body_html = $7, auto_reply_enabled = $8, \
                   auto_reply_subject = $9, auto_reply_body_html = $10, trigger_event = $11, \
                   sort_order = $12, is_active = $13 where id = $1";
    DELETE_RULE = "delete from cms_formfunnel_email_routing where id = $1";
}

pub(super) async fn by_id(from: impl Into<Reader<'_>>, id: i64) -> Result<Option<Funnel>> {
    from.into().optional(BY_ID, args![id]).await
}

/// The funnels of this slug, one for each language.
pub(super) async fn by_slug(from: impl Into<Reader<'_>>, slug: &str) -> Result<Vec<Funnel>> {
    // PostgreSQL refuses to compare with text that holds U+0000.
    if slug.contains('\0') {
        return Ok(Vec::new());
    }
    from.into().all(BY_SLUG, args![slug]).await
}

/// Locks the funnel until the change ends. False: there is no such funnel.
pub(super) async fn lock(change: &mut Change, id: i64) -> Result<bool> {
    Ok(change.run(LOCK, args![id]).await? > 0)
}

/// In the order in which they are tried.
pub(in crate::funnels) async fn rules(
    from: impl Into<Reader<'_>>,
    funnel: i64,
) -> Result<Vec<EmailRouting>> {
    from.into().all(RULES, args![funnel]).await
}

/// The first of the language versions of a funnel.
pub(super) async fn first_version(change: &mut Change, id: i64) -> Result<Option<i64>> {
    let found: Option<(i64,)> = change.optional(FIRST_VERSION, args![id]).await?;
    Ok(found.map(|(id,)| id))
}

/// Makes a language version the base of the others.
pub(super) async fn hand_on(change: &mut Change, base: i64, heir: i64) -> Result<()> {
    change.run(HAND_ON, args![base, heir]).await?;
    change.run(HAND_ON_LIVE, args![base, heir]).await.map(drop)
}

/// Explains a violated unique index: another funnel has the slug, or the language in the family.
fn taken(header: &Header) -> impl FnOnce(Error) -> Error {
    let slug = header.slug.clone();
    move |error| match is_unique_violation(&error) {
        true => Error::new(
            crate::Code::Conflict,
            format!(
                "Another funnel of this language has the slug {slug}, or the family has a version \
                 in this language. Nothing was changed."
            ),
        ),
        false => error,
    }
}

/// Stores a new funnel and returns its id. [`update`] writes the other columns.
pub(super) async fn insert(change: &mut Change, header: &Header) -> Result<i64> {
    let args =
        args![&header.name, &header.slug, header.base_id, &header.language_short, change.now()];
    let (id,): (i64,) = change.one(INSERT, args).await.map_err(taken(header))?;
    Ok(id)
}

pub(super) async fn update(change: &mut Change, id: i64, header: &Header) -> Result<()> {
    let args = args![
        id,
        &header.name,
        &header.slug,
        header.start_node_id,
        header.save_abandoned,
        header.abandon_after_min,
        Json::Object(header.settings.all.clone()).to_string(),
        header.base_id,
        &header.language_short,
        change.now(),
    ];
    change.run_one(UPDATE, args).await.map_err(taken(header))
}

pub(super) async fn delete(change: &mut Change, id: i64) -> Result<bool> {
    Ok(change.run(DELETE, args![id]).await? > 0)
}

/// Writes a node whose settings are `config`; returns its id.
pub(super) async fn put_node(
    change: &mut Change,
    funnel: i64,
    node: &Node,
    config: &Json,
) -> Result<i64> {
    let is_new = node.id < 0;
    let args = args![
        if is_new { funnel } else { node.id },
        node.kind.name(),
        &node.name,
        node.position_x,
        node.position_y,
        config.to_string(),
        node.sort_order,
    ];
    if !is_new {
        change.run_one(UPDATE_NODE, args).await?;
        return Ok(node.id);
    }
    let (id,): (i64,) = change.one(INSERT_NODE, args).await?;
    Ok(id)
}

/// Writes an edge between stored nodes. `id`: the stored edge that it replaces.
pub(super) async fn put_edge(
    change: &mut Change,
    funnel: i64,
    id: Option<i64>,
    edge: &Edge,
) -> Result<()> {
    let (from, to, label) = (edge.from, edge.to, edge.branch.as_str());
    let args = args![id.unwrap_or(funnel), from, to, label, edge.sort_order];
    match id {
        Some(_) => change.run_one(UPDATE_EDGE, args).await,
        None => change.run(INSERT_EDGE, args).await.map(drop),
    }
}

pub(super) async fn put_rule(change: &mut Change, funnel: i64, rule: &Rule) -> Result<()> {
    let is_new = rule.id == 0;
    let args = args![
        if is_new { funnel } else { rule.id },
        rule.condition.as_ref().map(Json::to_string),
        &rule.recipients,
        &rule.cc,
        &rule.bcc,
        &rule.subject,
        &rule.body_html,
        rule.auto_reply_enabled,
        &rule.auto_reply_subject,
        &rule.auto_reply_body_html,
        rule.trigger.as_str(),
        rule.sort_order,
        rule.is_active,
    ];
    match is_new {
        true => change.run(INSERT_RULE, args).await.map(drop),
        false => change.run_one(UPDATE_RULE, args).await,
    }
}
