extension Schema {
  /// What ends with a session and with a ban: tokens of devices that were bought with an access token, and what a key
  /// may do whose current user is banned (milliseconds since 1970).
  static let endingTokens = """
    alter table session_tokens add column session blob /*uuid*/ references sessions (id) on delete cascade;
    create index session_tokens_session on session_tokens (session) where session is not null;
    alter table device_states add column user_banned_until integer;
    create index left_users_user on left_users (user_id);
    """

  /// Those who are banned already.
  static let endingTokensOnPostgreSQL = """
    update device_states s set user_banned_until = u.banned_until from users u
    where u.banned_until is not null and s.user_id = u.id::text;
    """

  /// Keys name their users in lower case, with hyphens.
  static let endingTokensOnSQLite = """
    update device_states set user_banned_until = b.banned_until
    from (
      select banned_until, substr(h, 1, 8) || '-' || substr(h, 9, 4) || '-' || substr(h, 13, 4) || '-' ||
        substr(h, 17, 4) || '-' || substr(h, 21) as name
      from (select banned_until, lower(hex(id)) as h from users where banned_until is not null)
    ) b
    where device_states.user_id = b.name;
    """
}
