import Accounts
import Encodings
import SQL

/// Rows of users' sessions.
enum AccountSessionRows {
  private static let columns = """
    s.id, s.user_id, s.created_at, s.refreshed_at, s.counter, s.auth_time, s.methods, s.key_id,
    s.acknowledged_at, s.successor
    """

  /// The session and its user in one look; locked, those who would change the session wait.
  static func open(_ id: UUID, locked: Bool, _ transaction: Transaction) async throws -> OpenSession? {
    let found =
      try await locked && transaction.dialect == .postgreSQL
      ? lockedParts(id, transaction)
      : transaction.first(
        """
        select \(columns), \(UserRows.columns) from sessions s join users u on u.id = s.user_id
        where s.id = $1
        """, [SQLValue(id)]
      ) { (session: try read($0), user: try UserRows.read($0, from: 10)) }
    guard let found else { return nil }
    return OpenSession(user: try await UserRows.complete(found.user, transaction), session: found.session)
  }

  /// Two looks in one round trip: whoever waited for the session's lock would see its user as they were before the wait,
  /// though they are banned or being deleted since.
  private static func lockedParts(
    _ id: UUID, _ transaction: Transaction
  ) async throws -> (session: Session, user: User)? {
    var (session, user): (Session?, User?) = (nil, nil)
    try await transaction.together([
      Query("select \(columns) from sessions s where s.id = $1 for update", [SQLValue(id)]),
      Query(
        "select \(UserRows.columns) from users u join sessions s on s.user_id = u.id where s.id = $1",
        [SQLValue(id)]),
    ]) { index, row in
      if index == 0 { session = try read(row) } else { user = try UserRows.read(row) }
    }
    guard let session, let user else { return nil }
    return (session, user)
  }

  static func session(_ id: UUID?, _ transaction: Transaction) async throws -> Session? {
    guard let id else { return nil }
    return try await transaction.first("select \(columns) from sessions s where s.id = $1", [SQLValue(id)]) {
      try read($0)
    }
  }

  /// The session once more, where it is known whose it is.
  static func locked(_ id: UUID, of user: UUID, _ transaction: Transaction) async throws -> Session? {
    try await transaction.first(
      "select \(columns) from sessions s where s.id = $1 and s.user_id = $2\(transaction.locking)",
      [SQLValue(id), SQLValue(user)]
    ) { try read($0) }
  }

  static func userID(_ session: UUID, _ transaction: Transaction) async throws -> UUID? {
    try await transaction.first("select user_id from sessions where id = $1", [SQLValue(session)]) {
      try $0.uuid(0)
    }
  }

  static func insert(_ session: Session, _ transaction: Transaction) throws {
    try transaction.enqueue(
      """
      insert into sessions (id, user_id, created_at, refreshed_at, counter, auth_time, methods, key_id,
        acknowledged_at, successor)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
      """,
      [
        SQLValue(session.id), SQLValue(session.userID), .integer(session.createdAt),
        .integer(session.refreshedAt), .integer(session.counter), .integer(session.authTime),
        .text(spell(session.methods)), SQLValue(session.keyID), SQLValue(session.acknowledgedAt),
        SQLValue(session.successor),
      ])
  }

  /// Writes what of a session can change.
  static func update(_ session: Session, _ transaction: Transaction) throws {
    try transaction.enqueue(
      """
      update sessions set refreshed_at = $2, counter = $3, auth_time = $4, methods = $5, key_id = $6,
        acknowledged_at = $7, successor = $8
      where id = $1
      """,
      [
        SQLValue(session.id), .integer(session.refreshedAt), .integer(session.counter),
        .integer(session.authTime), .text(spell(session.methods)), SQLValue(session.keyID),
        SQLValue(session.acknowledgedAt), SQLValue(session.successor),
      ])
  }

  /// Ends a session, and those that it replaced: their access tokens would outlive it.
  static func end(_ id: UUID, of user: UUID, _ transaction: Transaction) async throws {
    try await transaction.execute(
      """
      with recursive ended (id) as (
        select id from sessions where id = $1
        union select s.id from sessions s join ended e on s.successor = e.id)
      delete from sessions where user_id = $2 and id in (select id from ended)
      """, [SQLValue(id), SQLValue(user)])
  }

  /// Ends the user's sessions but this one, and those that replaced it: who asks by the access token of before a link
  /// means to stay signed in, and has the newer ones or is yet to get them (RULES §3.8).
  static func endOthers(_ id: UUID, of user: UUID, _ transaction: Transaction) async throws {
    try await transaction.execute(
      """
      with recursive kept (id, successor) as (
        select id, successor from sessions where id = $1
        union select s.id, s.successor from sessions s join kept k on s.id = k.successor)
      delete from sessions where user_id = $2 and id not in (select id from kept)
      """, [SQLValue(id), SQLValue(user)])
  }

  /// Ends every session of the user.
  static func endAll(of user: UUID, _ transaction: Transaction) async throws {
    try await transaction.execute("delete from sessions where user_id = $1", [SQLValue(user)])
  }

  private static func read(_ row: Row) throws -> Session {
    Session(
      id: try row.uuid(0), userID: try row.uuid(1), createdAt: row.int64(2), refreshedAt: row.int64(3),
      counter: row.int64(4), authTime: row.int64(5), methods: methods(row.string(6)),
      keyID: row.optionalBytes(7), acknowledgedAt: row.optionalInt64(8),
      successor: try row.optionalUUID(9))
  }

  /// `oauth 1800000000,anonymous 1790000000`: read at every refresh, and never by anyone else.
  static func spell(_ methods: [AuthenticationMethod]) -> String {
    methods.map { "\($0.method) \($0.timestamp)" }.joined(separator: ",")
  }

  static func methods(_ text: String) -> [AuthenticationMethod] {
    text.split(separator: ",").compactMap { part in
      let words = part.split(separator: " ")
      guard words.count == 2, let timestamp = Int64(words[1]) else { return nil }
      return AuthenticationMethod(method: String(words[0]), timestamp: timestamp)
    }
  }
}
