extension Schema {
  /// Jobs that run once among all nodes. Times are milliseconds since 1970.
  static let sharedJobs = """
    create table jobs (
      name text not null primary key,
      generation integer not null,
      node text,
      leased_until integer,
      last_start integer,
      last_end integer,
      outcome text,
      next_run integer not null
    ) strict;
    """
}
