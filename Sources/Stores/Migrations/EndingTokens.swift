extension Schema {
  /// What ends with a session and with a ban: tokens of devices that were bought with an access token, and what a key
  /// may do whose current user is banned (milliseconds since 1970).
  static let endingTokens = """
    alter table session_tokens add column session blob /*uuid*/ references sessions (id) on delete cascade;
    create index session_tokens_session on session_tokens (session) where session is not null;
    alter table device_states add column user_banned_until integer;
    """
}
