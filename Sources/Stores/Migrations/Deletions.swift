extension Schema {
  /// Deletions of accounts, which outlive their users as tombstones. Milliseconds since 1970.
  static let deletions = """
    -- user_id: no reference, for the user goes. next_try: NULL where nothing is left to do.
    create table deletions (
      id integer primary key,
      operation blob not null unique,
      user_id blob /*uuid*/ not null,
      actor text not null,
      operator text,
      policy text not null,
      state integer not null,
      owed text not null,
      identities integer not null,
      revoked integer not null,
      superseded integer not null,
      attempts integer not null,
      next_try integer,
      failure text,
      created_at integer not null,
      updated_at integer not null,
      closed_at integer
    ) strict;
    create index deletions_user on deletions (user_id);
    create index deletions_next_try on deletions (next_try) where next_try is not null;
    create index deletions_closed_at on deletions (closed_at) where closed_at is not null;

    -- Further names, of those who asked for the same while it ran.
    create table deletion_names (
      operation blob not null primary key,
      deletion integer not null references deletions (id) on delete cascade
    ) strict;
    create index deletion_names_deletion on deletion_names (deletion);

    -- Apple's tokens that are to be revoked, and rows that are gone once that is done.
    create table deletion_tokens (
      id integer primary key,
      deletion integer not null references deletions (id) on delete cascade,
      team_id text not null,
      subject text not null,
      client_id text not null,
      sealing_key text not null,
      sealed blob not null,
      dead integer not null
    ) strict;
    create index deletion_tokens_deletion on deletion_tokens (deletion);
    """
}
