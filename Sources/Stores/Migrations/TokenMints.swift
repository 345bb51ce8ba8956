extension Schema {
  /// How many tokens a key has minted in Anthropic's flow, of which its challenges are derived (RULES §1.11).
  static let tokenMints = """
    create table token_mints (
      device integer not null primary key references device_keys (id) on delete cascade,
      mints integer not null
    ) strict;
    """
}
