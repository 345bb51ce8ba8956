import Accounts
import Encodings
import SQL

/// Giving an identity the name that it has under another team. Everything else of its user stays.
struct RekeyStep {
  let rekeying: Rekeying
  let transfer: AccountTransfer
  let origin: RequestOrigin
  let now: Int64
  let transaction: Transaction

  func run() async throws -> TransferResult? {
    guard let seen = try await subject() else { return nil }
    // Nobody signs in with either name, links one, or applies an event to it meanwhile.
    try await transaction.lock(names: ["subject apple \(seen)", "subject apple \(rekeying.subject)"])
    guard let (identity, user) = try await identity() else { return nil }
    // Who signed in first was found by the transfer identifier.
    if identity.teamID == transfer.target {
      let known = try await TransferRows.result(identity.id, transfer, transaction)
      return known == .transferred ? .transferred : try await note(.signedInFirst)
    }
    guard identity.teamID == transfer.source, identity.subject == seen else { throw DatabaseError.conflict }
    let other = try await UserRows.identity(
      provider: "apple", teamID: transfer.target, subject: rekeying.subject, transaction)
    if other != nil {
      return try await note(
        .conflict, reason: "the person has another account here, by a sign-in before the export")
    }
    let (moved, updated) = Profile.moved(identity, user, by: rekeying, to: transfer.target, now: now)
    try UserRows.update(updated, transaction)
    try UserRows.update(moved, isRekeyed: true, transaction)
    try await KeyUserRows.rename(identity, to: moved, of: user.id, transaction)
    try AuditRows.write(
      .identityTransferred, by: origin, user: user.id, reason: "\(transfer.source) to \(transfer.target)",
      now: now, transaction)
    return try await note(.transferred)
  }

  private func note(_ result: TransferResult, reason: String? = nil) async throws -> TransferResult {
    try await TransferRows.note(result, rekeying.identity, transfer, reason: reason, now: now, transaction)
    return result
  }

  private func subject() async throws -> String? {
    try await transaction.first(
      "select subject from identities where id = $1 and provider = 'apple'", [SQLValue(rekeying.identity)]
    ) { $0.string(0) }
  }

  /// The identity and its user, who is locked.
  private func identity() async throws -> (Identity, User)? {
    let owner = try await transaction.first(
      "select user_id from identities where id = $1", [SQLValue(rekeying.identity)]
    ) { try $0.uuid(0) }
    guard let owner, let user = try await UserRows.user(owner, locked: true, transaction),
      let identity = user.identities.first(where: { $0.id == rekeying.identity })
    else { return nil }
    return (identity, user)
  }
}
