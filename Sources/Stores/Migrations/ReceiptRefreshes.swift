extension Schema {
  /// Receipts that are exchanged for new ones, and what Apple says of a key's device. Seconds since 1970.
  ///
  /// What an admission reads of it stands in rows that it reads anyway. Receipts of before are due at once: whether
  /// their keys are still used is not known, so they count as used when they were registered.
  static let receiptRefreshes = """
    -- Field 17 of the newest receipt: about how many keys the device attested in 30 days.
    alter table device_keys add column risk_metric integer;
    -- DeviceCheck's two bits before the registration (bit 0 is 1, bit 1 is 2), and whether bit 0 said that the
    -- device had registered in the same month.
    alter table device_keys add column device_bits integer;
    alter table device_keys add column known_device integer;
    -- The last day with an admitted request, in days since 1970.
    alter table device_states add column used_on integer not null default 0;
    -- When the newest one came from the endpoint, when the next is to be asked for (null: never), and how often in
    -- a row asking came to nothing.
    alter table device_receipts add column fetched_at integer;
    alter table device_receipts add column next_refresh integer;
    alter table device_receipts add column failures integer not null default 0;
    update device_receipts set next_refresh = received_at;
    -- Those that were never exchanged go first.
    create index device_receipts_first on device_receipts (next_refresh) where fetched_at is null;
    create index device_receipts_next on device_receipts (next_refresh) where fetched_at is not null;

    -- One row at most: until when Apple is not to be asked by any node.
    create table receipt_pauses (
      id integer primary key check (id = 1),
      ends integer not null
    ) strict;
    """
}
