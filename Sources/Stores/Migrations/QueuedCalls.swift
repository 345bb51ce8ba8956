extension Schema {
  /// Calls that a provider's queue works on. Milliseconds since 1970, pico-dollars, millionths of a unit.
  static let queuedCalls = """
    create table queued_calls (
      id blob not null primary key,
      reservation blob not null,
      provider text not null,
      model text not null,
      route text not null,
      upstream_id text not null,
      owner blob not null,
      user_id text,
      unit text not null,
      unit_price integer not null,
      unit_bound integer not null,
      image_bound integer not null,
      reserve integer not null,
      submitted_at integer not null,
      attempts integer not null,
      next_look integer not null,
      ended_at integer
    ) strict;
    create index queued_calls_next_look on queued_calls (next_look) where ended_at is null;
    create index queued_calls_ended_at on queued_calls (ended_at) where ended_at is not null;
    """
}
