extension Schema {
  /// What came of Apple's notifications, and what must be known to judge them. Milliseconds since 1970.
  static let appleEvents = """
    -- Whether mail to the identity's relay address is forwarded; NULL where Apple said nothing of this address.
    alter table identities add column forwards_email integer;
    alter table identities add column forwarding_at integer;
    alter table apple_events add column outcome text;
    alter table apple_events add column next_try integer not null default 0;
    create index apple_events_pending on apple_events (next_try) where applied_at is null;
    create index apple_events_applied_at on apple_events (applied_at) where applied_at is not null;

    -- Consents that this server ended at Apple itself (RULES §2.4).
    create table apple_revocations (
      team_id text not null,
      subject text not null,
      revoked_at integer not null,
      primary key (team_id, subject)
    ) strict, without rowid;
    """
}
