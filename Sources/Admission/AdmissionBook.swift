package import Gateway

/// The rows that an admission reads and changes, inside one transaction. Reads see what was kept before, so that
/// the requests of a batch are decided in turn.
package protocol AdmissionBook: AnyObject {
  /// The key's row, revoked and banned ones included; nil when unknown.
  func device(_ keyID: [UInt8]) throws -> DeviceState?
  /// The session token's row, expired ones included.
  func session(_ tokenHash: [UInt8]) throws -> SessionState?
  /// The debug token's row, expired ones included.
  func debugToken(_ tokenHash: [UInt8]) throws -> DebugTokenState?
  /// Why the user of an access token may not become a key's: they were deleted, are leaving, or are banned since the
  /// token was looked at. It holds until the transaction ends; nil also for a name that is no account's.
  func refusal(ofUser id: String, now: Int64) throws -> AdmissionRefusal?
  /// Why nothing may be bought with an access token of that session: it is over. It holds until the transaction ends.
  func refusal(ofSession id: [UInt8]) throws -> AdmissionRefusal?
  /// Consumes the challenge; false when it was consumed before or expires at or below the floor (RULES §1.4), or
  /// when the key has minted another number of tokens by now (RULES §1.11).
  func consume(_ challenge: ConsumedChallenge, keyID: [UInt8]) throws -> Bool
  /// Whether the model is closed (RULES §5.2).
  func isClosed(_ model: ProviderModel) throws -> Bool
  /// The row of that subject and rule; for `window`, in the period that governs at `now`.
  func line(_ subject: LineSubject, rule: String, window: Window?, now: Int64) throws -> LedgerLine
  /// The row at a slot.
  func line(at slot: Int) -> LedgerLine
  /// The row of another rule for `subject`, in the period of the row at `slot`.
  func line(_ subject: LineSubject, rule: String, besides slot: Int) throws -> LedgerLine

  /// What leases are counted from, milliseconds since 1970: the database's clock where nodes share one, else
  /// `now`, the caller's (RULES §5.5).
  func leaseTime(now: Int64) -> Int64

  func keep(_ device: DeviceState) throws
  func keep(_ line: LedgerLine)
  /// Whose row it is, and the rule's name in rows.
  func owner(ofLineAt slot: Int) throws -> (subject: LineSubject, rule: String)
  /// The rule's name alone, which settling asks for each row where limits are spared.
  func rule(ofLineAt slot: Int) throws -> String
  /// Tells of it once this is durable.
  func keep(_ alarm: LimitAlarm) throws
  func keep(_ reservation: Reservation) throws
  /// Closes the model until an operator has looked; the first closure of a model stays.
  func keep(_ closure: ModelClosure) throws
  /// Notes that the debug token was used; seconds since 1970.
  func noteUse(debugToken name: String, at time: Int64) throws
}

extension AdmissionBook {
  package func rule(ofLineAt slot: Int) throws -> String { try owner(ofLineAt: slot).rule }
}
