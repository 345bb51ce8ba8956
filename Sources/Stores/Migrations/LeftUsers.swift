extension Schema {
  /// Anonymous users who were left behind at a switch, by the session that it opened, and what that session said of
  /// them (RULES §3.7).
  static let leftUsers = """
    -- user_id: no reference, for whoever said that they go may say it once more when they are gone.
    create table left_users (
      session blob /*uuid*/ not null primary key references sessions (id) on delete cascade,
      user_id blob /*uuid*/ not null,
      word text
    ) strict;
    """
}
