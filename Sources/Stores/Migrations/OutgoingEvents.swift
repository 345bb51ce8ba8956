extension Schema {
  /// Events for the app's own backend. Milliseconds since 1970.
  static let outgoingEvents = """
    create table event_endpoints (
      id integer primary key,
      url text not null unique,
      -- Since when it wants no more (410): what happens meanwhile waits for an operator.
      closed_at integer
    ) strict;

    -- What the configuration of the server that started last asks for.
    create table event_subscriptions (
      type text not null,
      endpoint integer not null references event_endpoints (id) on delete cascade,
      primary key (type, endpoint)
    ) strict, without rowid;

    -- One row an event and endpoint. state: 0 waits, 1 delivered, 2 dead. contact: the user's address, erased with
    -- the user.
    create table outgoing_events (
      id integer primary key,
      webhook_id text not null unique,
      endpoint integer not null references event_endpoints (id),
      type text not null,
      user_id text,
      data text not null,
      contact text,
      created_at integer not null,
      state integer not null,
      attempts integer not null,
      next_try integer not null,
      ended_at integer,
      outcome text
    ) strict;
    create index outgoing_events_due on outgoing_events (endpoint, next_try) where state = 0;
    create index outgoing_events_ended on outgoing_events (ended_at) where state <> 0;
    create index outgoing_events_contact on outgoing_events (user_id) where contact is not null;
    """
}
