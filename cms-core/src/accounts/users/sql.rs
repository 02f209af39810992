//! The statements of users.

use crate::{
    Change, Page, Result,
    accounts::{HeldPermissions, Membership, Person, User},
    base::Base,
    db::{Db, Statement, args, read, record, statements},
    items::{Made, OwnColumn, Query, RowList, Within, eq},
};

// The columns of a user; the groups are read separately.
record! { User: user_columns {
    id: "u.id",
    username: "u.username",
    active: "u.active",
    two_factor: "u.totp_secret is not null",
    created_at: "u.created_at" => read::time,
    last_login_at: "u.last_login_at" => read::optional_time,
    recovery_codes:
        "(select count(*) from cms_recovery_codes r where r.user_id = u.id and r.used_at is null)",
    sessions: "(select count(*) from cms_sessions s where s.user_id = u.id \
               and s.last_seen_at > $1 and s.created_at > $2)";
    groups: Vec::new(),
} }

record! { Membership: membership_columns {
    id: "g.id",
    name: "g.name",
} }

record! {
    /// A group of a user.
    pub(in crate::accounts) struct Member: member_columns {
        user: i64 = "m.user_id",
        group: Membership = (membership_columns),
        rights: HeldPermissions = "g.rights" => HeldPermissions::from_stored,
    }
}

record! {
    /// A user as read by a change that locks the row.
    pub(in crate::accounts) struct Locked: locked_columns {
        pub(in crate::accounts) username: String = "username",
        pub(in crate::accounts) active: bool = "active",
    }
}

record! {
    /// A user without rights.
    struct Name: name_columns {
        id: i64 = "u.id",
        username: String = "u.username",
        active: bool = "u.active",
    }
}

macro_rules! name {
    () => {
        concat!("select ", name_columns!(), " from cms_users u where u.id = $1")
    };
}

/// As `NAME`, on PostgreSQL: the user cannot be deleted until the change ends.
const NAME_KEPT: Statement =
    Statement::new(concat!(module_path!(), "::NAME_KEPT"), concat!(name!(), " for key share"));

macro_rules! memberships {
    ($of:literal) => {
        concat!(
            "select ",
            member_columns!(),
            " from cms_user_group_members m join cms_user_groups g on g.id = m.user_group_id \
             where m.user_id ",
            $of
        )
    };
}

/// Users as a list. A session counts as open when it was used after `$1` and begun after `$2`.
pub(crate) static LIST: RowList = RowList {
    name: "The list of users",
    table: "cms_users",
    columns: &[
        OwnColumn::integer("id"),
        OwnColumn::text("username").searched(),
        OwnColumn::boolean("active"),
        OwnColumn::time("created_at"),
        OwnColumn::time("last_login_at").nullable(),
    ],
    rows: Statement::new(
        concat!(module_path!(), "::LIST"),
        concat!("select ", user_columns!(), " from cms_users u where u.id in"),
    ),
    made: Made::new(),
};

/// Users who can be assigned, as a list. A caller that assigns learns only ids and names.
pub(crate) static NAMED: RowList = RowList {
    name: "The list of users who can be assigned",
    table: "cms_users",
    columns: &[
        OwnColumn::integer("id"),
        OwnColumn::text("username").searched(),
        OwnColumn::boolean("active"),
    ],
    rows: Statement::new(
        concat!(module_path!(), "::NAMED"),
        concat!("select ", name_columns!(), " from cms_users u where u.id in"),
    ),
    made: Made::new(),
};

const MEMBERS_OF: Statement = Statement::new(
    concat!(module_path!(), "::MEMBERS_OF"),
    "select distinct m.user_id from cms_user_group_members m where m.user_group_id in",
);

const MEMBERSHIPS_OF: Statement =
    Statement::new(concat!(module_path!(), "::MEMBERSHIPS_OF"), memberships!("in"));

statements! {
    NAME = name!();
    GET = concat!("select ", user_columns!(), " from cms_users u where u.id = $3");
    MEMBERSHIPS = memberships!("between $1 and $2 order by m.user_id, g.id");
    LOCK = concat!(
        "update cms_users set active = active where id = $1 returning ", locked_columns!()
    );
    INSERT = "insert into cms_users \
              (username, name_key, password, salt_id, active, created_at) \
              values ($1, $2, $3, $4, $5, $6) returning id";
    /// A name that stays keeps its key.
    RENAME = "update cms_users set username = $2, \
              name_key = case when username = $2 then name_key else $3 end, active = $4 \
              where id = $1";
    SET_PASSWORD = "update cms_users set password = $2, salt_id = $3 where id = $1";
    DELETE = "delete from cms_users where id = $1";
    JOIN = "insert into cms_user_group_members (user_id, user_group_id) values ($1, $2)";
    LEAVE_ALL = "delete from cms_user_group_members where user_id = $1";
    FIND = "select id from cms_users where name_key in ($1, $2, $3) \
            order by name_key = $1 desc, name_key = $2 desc limit 1";
    OTHER_SALTS = "select count(*), sum(case when salt_id = $1 then 0 else 1 end) \
                   from cms_users";
    /// Users who can administer the site.
    ADMINS = "select count(distinct m.user_id) from cms_user_group_members m \
              join cms_user_groups g on g.id = m.user_group_id \
              join cms_users u on u.id = m.user_id where u.active and g.rights = '\"0\"'";
}

/// Reads the groups of users.
pub(in crate::accounts) async fn join(db: &Db, users: &mut [User]) -> Result<()> {
    let ids: Vec<_> = users.iter().map(|user| user.id).collect();
    let mut members: Vec<Member> = db.among(MEMBERSHIPS_OF, Vec::new(), &ids).await?;
    members.sort_by_key(|member| member.group.id);
    for Member { user, group, .. } in members {
        if let Some(user) = users.iter_mut().find(|one| one.id == user) {
            user.groups.push(group);
        }
    }
    Ok(())
}

/// A user. A session counts as open when it was used after `seen` and begun after `begun`.
pub(in crate::accounts) async fn get(
    db: &Db,
    id: i64,
    (seen, begun): (i64, i64),
) -> Result<Option<User>> {
    let mut found: Vec<User> = db.all(GET, args![seen, begun, id]).await?;
    if !found.is_empty() {
        join(db, &mut found).await?;
    }
    Ok(found.pop())
}

/// The members of these groups who are switched on: ids and names.
pub(in crate::accounts) async fn members(
    base: &Base,
    query: &Query,
    groups: &[i64],
) -> Result<Page<(i64, String)>> {
    let members: Vec<(i64,)> = base.db().among(MEMBERS_OF, args![], groups).await?;
    let keys = members.into_iter().map(|(id,)| id);
    let within = Some(Within::Keys(match &query.within {
        None => keys.collect(),
        Some(Within::Keys(asked)) => keys.filter(|id| asked.contains(id)).collect(),
        Some(Within::From(first)) => keys.filter(|id| id >= first).collect(),
    }));
    let (query, own) = (Query { within, ..query.clone() }, [("active", eq(true))]);
    let page = NAMED.page_where(base, &query, own, args![], |one: &Name| one.id).await?;
    Ok(page.map(|one| (one.id, one.username)))
}

/// A user with the rights as this change sees them.
pub(in crate::accounts) async fn person(change: &mut Change, id: i64) -> Result<Option<Person>> {
    let statement = change.dialect().keeping(NAME, NAME_KEPT);
    let Some(name) = change.optional::<Name>(statement, args![id]).await? else { return Ok(None) };
    let members: Vec<Member> = change.all(MEMBERSHIPS, args![id, id]).await?;
    let rights =
        members.into_iter().fold(HeldPermissions::default(), |all, one| all.and(one.rights));
    Ok(Some(Person { rights, ..name.person() }))
}

impl Name {
    fn person(self) -> Person {
        Person { active: self.active, rights: HeldPermissions::default() }
    }
}

/// The user as changed so far by this change.
pub(in crate::accounts) async fn read(
    change: &mut Change,
    id: i64,
    (seen, begun): (i64, i64),
) -> Result<User> {
    let mut user: User = change.one(GET, args![seen, begun, id]).await?;
    let members: Vec<Member> = change.all(MEMBERSHIPS, args![id, id]).await?;
    user.groups = members.into_iter().map(|member| member.group).collect();
    Ok(user)
}

/// Locks the user until this change ends, and reads all of the user's rights.
pub(in crate::accounts) async fn lock(
    change: &mut Change,
    id: i64,
) -> Result<Option<(Locked, HeldPermissions)>> {
    let Some(user) = change.optional::<Locked>(LOCK, args![id]).await? else { return Ok(None) };
    let members: Vec<Member> = change.all(MEMBERSHIPS, args![id, id]).await?;
    Ok(Some((
        user,
        members.into_iter().fold(HeldPermissions::default(), |all, member| all.and(member.rights)),
    )))
}

pub(in crate::accounts) async fn set_password(
    change: &mut Change,
    id: i64,
    password: &str,
    salt_id: &str,
) -> Result<()> {
    change.run_one(SET_PASSWORD, args![id, password, salt_id]).await
}

pub(in crate::accounts) async fn set_groups(
    change: &mut Change,
    id: i64,
    groups: &[i64],
) -> Result<()> {
    change.run(LEAVE_ALL, args![id]).await?;
    for group in groups {
        change.run(JOIN, args![id, *group]).await?;
    }
    Ok(())
}

pub(in crate::accounts) async fn find(
    db: &Db,
    [sent, composed, decomposed]: [String; 3],
) -> Result<Option<i64>> {
    Ok(db.optional::<(i64,)>(FIND, args![sent, composed, decomposed]).await?.map(|(id,)| id))
}
