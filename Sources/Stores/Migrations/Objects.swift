extension Schema {
  /// Objects of users. Contents are in pieces, so that none is whole in memory when it is read or copied.
  /// Milliseconds since 1970, octets.
  static let objects = """
    create table objects (
      id blob /*uuid*/ not null primary key,
      user_id blob /*uuid*/ not null references users (id) on delete cascade,
      bucket text not null,
      path text not null,
      content_type text not null,
      size integer not null,
      origin blob,
      created_at integer not null,
      unique (bucket, path)
    ) strict;
    create index objects_user on objects (user_id, bucket, path);

    create table object_pieces (
      object blob /*uuid*/ not null references objects (id) on delete cascade,
      number integer not null,
      content blob not null,
      primary key (object, number)
    ) strict;
    """
}
