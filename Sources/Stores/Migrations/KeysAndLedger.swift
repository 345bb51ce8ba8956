extension Schema {
  /// Times of keys, challenges and tokens are seconds since 1970, those of the ledger milliseconds.
  ///
  /// What an admission changes is apart from what it only reads and as narrow as can be: a commit writes whole
  /// pages, so its cost goes by how many rows share one. Rules, periods and subjects are numbers for that reason.
  static let keysAndLedger = """
    create table device_keys (
      id integer primary key,
      key_id blob not null unique,
      public_key blob not null,
      app_id text not null,
      environment text not null,
      anchor blob not null,
      registered_at integer not null,
      status integer not null default 0,
      os_version text,
      os_build text,
      platform text,
      bundle_version text,
      validation_category integer
    ) strict;

    create table device_receipts (
      device integer primary key references device_keys (id) on delete cascade,
      receipt blob not null,
      received_at integer not null
    ) strict;

    -- What changes with every request: the counter window, and the key's current user.
    create table device_states (
      device integer primary key references device_keys (id) on delete cascade,
      highest integer not null default 0,
      near integer not null default 0,
      far integer not null default 0,
      user_id text
    ) strict;

    create table consumed_challenges (
      random blob not null primary key,
      expiry integer not null,
      key_id blob not null
    ) strict, without rowid;
    create index consumed_challenges_expiry on consumed_challenges (expiry);

    -- One row. A challenge that expires at or below the floor is refused: its row may be forgotten.
    create table challenge_floor (
      id integer primary key check (id = 1),
      expiry integer not null
    ) strict;
    insert into challenge_floor (id, expiry) values (1, 0);

    create table challenge_secrets (
      generation integer primary key,
      secret blob not null
    ) strict;

    create table session_tokens (
      id integer primary key,
      hash blob not null unique,
      device integer not null references device_keys (id) on delete cascade,
      user_id text,
      routes text not null,
      expiry integer not null
    ) strict;
    create index session_tokens_device on session_tokens (device);

    create table debug_tokens (
      id integer primary key,
      name text not null unique,
      hash blob not null unique,
      expiry integer not null,
      created_at integer not null,
      last_use integer
    ) strict;

    -- Users, apps, addresses and debug tokens that lines count for; kinds are LineSubject.Kind.
    create table subjects (
      id integer primary key,
      kind integer not null,
      name text not null,
      unique (kind, name)
    ) strict;

    create table rules (
      id integer primary key,
      name text not null unique
    ) strict;

    -- UTC bounds; a window that counts stays as it is, whatever zone is configured later.
    create table periods (
      id integer primary key,
      rule integer not null references rules (id),
      name text not null,
      starts integer not null,
      ends integer not null,
      unique (rule, starts, ends)
    ) strict;

    -- subject: the device's id, or a subject's negated; period: 0 for bursts and running requests.
    create table lines (
      subject integer not null,
      rule integer not null,
      period integer not null,
      used integer not null,
      held integer not null,
      primary key (subject, rule, period)
    ) strict, without rowid;
    create index lines_period on lines (period) where period > 0;

    -- Open ones only: settling deletes the row, and so happens once. lines: see ReservedLines.
    create table reservations (
      id blob not null primary key,
      lease integer not null,
      device integer,
      lines blob not null
    ) strict, without rowid;

    create table usage (
      id integer primary key,
      device integer,
      user_id text,
      route text not null,
      provider text not null,
      model text not null,
      status integer not null,
      input_tokens integer not null,
      cache_read_tokens integer not null,
      cache_write_5m_tokens integer not null,
      cache_write_1h_tokens integer not null,
      output_tokens integer not null,
      cost integer not null,
      estimated integer not null,
      started_at integer not null,
      first_byte integer,
      duration integer not null
    ) strict;
    create index usage_started_at on usage (started_at);
    """
}
