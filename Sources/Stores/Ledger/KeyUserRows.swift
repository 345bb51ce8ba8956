import Accounts
import Admission
import Encodings
import SQL

/// What keys and counters know of users, as accounts change. Rows of keys are locked before those of counters, as an
/// admission does.
enum KeyUserRows {
  /// Takes the user from the keys that they used last: whatever comes from one of them without an access token is
  /// nobody's from now on. The person behind the user stays (RULES §4.3).
  static func leave(_ user: UUID, _ transaction: Transaction) async throws {
    try await lock(user, transaction)
    try await transaction.execute(
      "update device_states set user_id = null, user_banned_until = null where user_id = $1",
      [.text(user.description)])
  }

  /// Tells the keys that the user used last until when the user is banned: what comes from one of them without
  /// another's access token is refused so long (RULES §1.8, §1.9). nil lifts it.
  static func ban(_ user: UUID, until time: Int64?, _ transaction: Transaction) async throws {
    try await lock(user, transaction)
    try await transaction.execute(
      "update device_states set user_banned_until = $2 where user_id = $1",
      [.text(user.description), SQLValue(time)])
  }

  /// Takes the user's id from the counters, which are there until their windows end, for calls that are not settled.
  static func forget(_ user: UUID, _ transaction: Transaction) async throws {
    try await transaction.execute(
      "update subjects set name = 'deleted ' || id where kind = $1 and name = $2",
      [.integer(LineSubject.Kind.user.rawValue), .text(user.description)])
  }

  /// Gives what is counted for a person to the name that their identity has under another team (RULES §4.3).
  ///
  /// - Parameter user: whose identity it is.
  static func rename(
    _ former: Identity, to identity: Identity, of user: UUID, _ transaction: Transaction
  ) async throws {
    // Where no secret was ever made, nothing was counted for a person.
    guard let secret = try await PersonRows.secret(fresh: nil, transaction) else { return }
    let names = PersonNames(secret: secret)
    let (old, new) = (SQLValue.text(names.name(of: former)), SQLValue.text(names.name(of: identity)))
    guard old != new else { return }
    try await lock(user, transaction)
    try await transaction.execute(
      "update device_states set person = $3 where user_id = $1 and person = $2",
      [.text(user.description), old, new])
    let kind = SQLValue.integer(LineSubject.Kind.person.rawValue)
    let isTaken = try await transaction.first(
      "select 1 from subjects where kind = $1 and name = $2", [kind, new]
    ) { _ in true }
    guard isTaken != nil else {
      try await transaction.execute(
        "update subjects set name = $3 where kind = $1 and name = $2", [kind, old, new])
      return
    }
    // Somebody with the new name was here before, and is gone: it is the same person, so both count. What is held
    // settles where it was made, so it counts in full here.
    try await transaction.execute(
      """
      insert into lines (subject, rule, period, used, held)
      select -n.id, l.rule, l.period, l.used + l.held, 0
      from subjects o join lines l on l.subject = -o.id and l.period > 0
        join subjects n on n.kind = $1 and n.name = $3
      where o.kind = $1 and o.name = $2
      order by l.rule, l.period
      on conflict (subject, rule, period) do update set used = lines.used + excluded.used
      """, [kind, old, new])
    try await transaction.execute(
      """
      update lines set used = 0 where period > 0 and subject in
        (select -id from subjects where kind = $1 and name = $2)
      """, [kind, old])
  }

  private static func lock(_ user: UUID, _ transaction: Transaction) async throws {
    guard transaction.dialect == .postgreSQL else { return }
    try await transaction.forEach(
      "select device from device_states where user_id = $1 order by device for update",
      [.text(user.description)]
    ) { _ in }
  }
}
