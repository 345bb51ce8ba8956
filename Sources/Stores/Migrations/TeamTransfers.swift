extension Schema {
  /// Moves of an app between teams of Apple's, and how far each identity is. Milliseconds since 1970.
  static let teamTransfers = """
    create table team_transfers (
      id integer primary key,
      source text not null,
      target text not null,
      accepted_at integer,
      created_at integer not null,
      unique (source, target)
    ) strict;

    create table transferred_identities (
      transfer integer not null references team_transfers (id) on delete cascade,
      identity blob /*uuid*/ not null references identities (id) on delete cascade,
      result text not null,
      reason text,
      updated_at integer not null,
      primary key (transfer, identity)
    ) strict, without rowid;
    create index transferred_identities_identity on transferred_identities (identity);
    """
}
