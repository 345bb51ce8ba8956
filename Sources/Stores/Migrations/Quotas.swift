extension Schema {
  /// Persons behind users, alarms of budgets, and what calls other than of tokens used.
  static let quotas = """
    -- An HMAC of the identity of the key's user.
    alter table device_states add column person text;
    -- The amount up to which alarms told of what is used.
    alter table lines add column alarmed integer not null default 0;
    alter table usage add column function text;
    alter table usage add column images integer not null default 0;
    -- What the provider bills by, in millionths.
    alter table usage add column units integer not null default 0;
    """
}
