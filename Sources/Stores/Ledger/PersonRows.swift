import Accounts
import Admission
import Encodings
import SQL

/// Counters that outlive an account (RULES §4.3).
enum PersonRows {
  private static let secretName = "person_secret"

  /// The secret of the names, made of `fresh` where there is none.
  static func secret(fresh: [UInt8]?, _ transaction: Transaction) async throws -> [UInt8]? {
    if let fresh {
      try await transaction.execute(
        "insert into meta (name, value) values ($1, $2) on conflict (name) do nothing",
        [.text(secretName), .text(Hex.encode(fresh))])
    }
    guard let kept = try await transaction.meta(secretName) else { return nil }
    guard let secret = Hex.decode(kept) else { throw DatabaseError.corrupt("meta.person_secret") }
    return secret
  }

  /// Has what the user used count for the persons behind these identities, who are about to part from the user: what
  /// was used before they were linked is theirs as well, so that linking and leaving refill nothing.
  ///
  /// - Parameter now: milliseconds since 1970.
  static func carry(
    from user: UUID, to identities: [Identity], now: Int64, _ transaction: Transaction
  ) async throws {
    // Where no secret was ever made, nothing was counted for a user.
    guard !identities.isEmpty, let secret = try await secret(fresh: nil, transaction) else { return }
    let names = PersonNames(secret: secret)
    for name in identities.map(names.name(of:)).sorted() {
      try await transaction.execute(
        "insert into subjects (kind, name) values ($1, $2) on conflict (kind, name) do nothing",
        [.integer(LineSubject.Kind.person.rawValue), .text(name)])
      // What is held settles on the user's rows alone, so it counts in full here.
      try await transaction.execute(
        """
        insert into lines (subject, rule, period, used, held)
        select -p.id, l.rule, l.period, l.used + l.held, 0
        from subjects u join lines l on l.subject = -u.id and l.period > 0
          join periods t on t.id = l.period and t.ends > $5
          join subjects p on p.kind = $3 and p.name = $4
        where u.kind = $1 and u.name = $2
        order by l.rule, l.period
        on conflict (subject, rule, period) do update
        set used = case when excluded.used > lines.used then excluded.used else lines.used end
        """,
        [
          .integer(LineSubject.Kind.user.rawValue), .text(user.description),
          .integer(LineSubject.Kind.person.rawValue), .text(name), .integer(now),
        ])
    }
  }
}
