package import Encodings

/// An app's move to another team, a user at a time, so that it can be broken off anywhere and gone on with. Each method
/// is one atomic step. Times are milliseconds since 1970.
package protocol TransferStore: Sendable {
  /// The transfer between the teams; made where there is none. `acceptedAt` is kept where it is given.
  func transfer(from source: String, to target: String, acceptedAt: Int64?, now: Int64) async throws
    -> AccountTransfer
  /// Identities of the source's that the step is still to be done for, by id, of those after `after`. Those that were
  /// refused, or are in conflict, only where it is tried again (`again`).
  func waiting(
    _ transfer: AccountTransfer, _ step: TransferStep, again: Bool, after: UUID?, limit: Int64
  ) async throws -> [TransferUser]
  /// How many those are.
  func count(_ transfer: AccountTransfer, _ step: TransferStep, again: Bool) async throws -> Int64
  /// Keeps an identity's transfer identifier; false where the identity is gone, or of another team by now.
  func exported(_ identity: UUID, as identifier: String, _ transfer: AccountTransfer, now: Int64) async throws
    -> Bool
  /// Notes that Apple refuses an identity.
  func refused(_ identity: UUID, reason: String, _ transfer: AccountTransfer, now: Int64) async throws
  /// Gives the identity its name under the target team; what became of it, nil where it is gone.
  func rekey(_ rekeying: Rekeying, _ transfer: AccountTransfer, by origin: RequestOrigin, now: Int64)
    async throws -> TransferResult?
  /// Every identity that takes part, by id, of those after `after`.
  func results(_ transfer: AccountTransfer, after: UUID?, limit: Int64) async throws -> [TransferUser]
}
