//! The statements of groups and memberships.

use std::collections::BTreeMap;

use crate::{
    Change, Result,
    accounts::{Group, HeldPermissions},
    change::Reader,
    db::{Db, Statement, args, read, record, statements},
    items::{Made, OwnColumn, RowList},
};

record! { Group: group_columns {
    id: "g.id",
    name: "g.name",
    rights: "g.rights" => HeldPermissions::from_stored,
    created_at: "g.created_at" => read::time,
    members: "(select count(*) from cms_user_group_members m where m.user_group_id = g.id)",
} }

macro_rules! get {
    () => {
        concat!("select ", group_columns!(), " from cms_user_groups g where g.id = $1")
    };
}

const GET_LOCKED: Statement =
    Statement::new(concat!(module_path!(), "::GET_LOCKED"), concat!(get!(), " for share"));

/// Groups as a list.
pub(crate) static LIST: RowList = RowList {
    name: "The list of groups",
    table: "cms_user_groups",
    columns: &[
        OwnColumn::integer("id"),
        OwnColumn::text("name").searched(),
        OwnColumn::time("created_at"),
    ],
    rows: Statement::new(
        concat!(module_path!(), "::LIST"),
        concat!("select ", group_columns!(), " from cms_user_groups g where g.id in"),
    ),
    made: Made::new(),
};

statements! {
    GET = get!();
    NAMED = concat!(
        "select ",
        group_columns!(),
        " from cms_user_groups g where g.name_key in ($1, $2, $3) \
         order by g.name_key = $1 desc, g.name_key = $2 desc limit 1"
    );
    FIND = "select id from cms_user_groups where name_key in ($1, $2, $3) \
            order by name_key = $1 desc, name_key = $2 desc limit 1";
    INSERT = "insert into cms_user_groups (name, name_key, rights, created_at) \
              values ($1, $2, $3, $4) returning id";
    LOCK = "update cms_user_groups set name = name where id = $1 returning id";
    /// A name that stays keeps its key.
    UPDATE = "update cms_user_groups set name = $2, \
              name_key = case when name = $2 then name_key else $3 end, rights = $4 where id = $1";
    DELETE = "delete from cms_user_groups where id = $1";
    RIGHTS = "select id, rights from cms_user_groups order by id";
    BIND = "update cms_user_groups set rights = $2 where id = $1";
    OWNERS = "select name, plugin_id from cms_plugin_names where kind = 'permission'";
}

/// The group with one of these keys of names.
pub(in crate::accounts) async fn named(
    db: &Db,
    [sent, composed, decomposed]: [String; 3],
) -> Result<Option<Group>> {
    db.optional(NAMED, args![sent, composed, decomposed]).await
}

/// Reads and locks the group until this change ends.
pub(in crate::accounts) async fn lock(change: &mut Change, id: i64) -> Result<Option<Group>> {
    if change.optional::<(i64,)>(LOCK, args![id]).await?.is_none() {
        return Ok(None);
    }
    change.optional(GET, args![id]).await
}

/// Reads the group and keeps it unchanged until this change ends. Several changes may keep one
/// group: two users can be put into it at the same time.
pub(in crate::accounts) async fn keep(change: &mut Change, id: i64) -> Result<Option<Group>> {
    let statement = change.dialect().keeping(GET, GET_LOCKED);
    change.optional(statement, args![id]).await
}

pub(in crate::accounts) async fn find(
    change: &mut Change,
    [sent, composed, decomposed]: [String; 3],
) -> Result<Option<i64>> {
    Ok(change.optional::<(i64,)>(FIND, args![sent, composed, decomposed]).await?.map(|(id,)| id))
}

fn stored(found: Vec<(i64, String)>) -> Result<Vec<(i64, HeldPermissions)>> {
    found.into_iter().map(|(id, text)| Ok((id, HeldPermissions::from_stored(text)?))).collect()
}

/// The rights of every group.
pub(in crate::accounts) async fn rights(
    change: &mut Change,
) -> Result<Vec<(i64, HeldPermissions)>> {
    stored(change.all(RIGHTS, args![]).await?)
}

/// The plugin that each permission key belongs to, and the rights of every group.
pub(in crate::accounts) async fn held(
    db: &Db,
) -> Result<(BTreeMap<String, String>, Vec<(i64, HeldPermissions)>)> {
    Ok((owners(db).await?, stored(db.all(RIGHTS, args![]).await?)?))
}

/// The groups that hold a permission of a built-in area.
pub(in crate::accounts) async fn holding(db: &Db, permission: &str) -> Result<Vec<i64>> {
    let groups = stored(db.all(RIGHTS, args![]).await?)?;
    Ok(groups.into_iter().filter(|(_, held)| held.may(permission)).map(|(id, _)| id).collect())
}

/// The plugin that each permission key belongs to.
pub(in crate::accounts) async fn owners(
    from: impl Into<Reader<'_>>,
) -> Result<BTreeMap<String, String>> {
    Ok(from.into().all::<(String, String)>(OWNERS, args![]).await?.into_iter().collect())
}
