package import Encodings

/// What a capability keeps for users beside their account, such as files: a step of every deletion and a part of
/// every export. Only what the server recorded as the user's is touched, whatever names or URLs the app wrote.
package protocol OwnedData: Sendable {
  /// Names the step, and the part of the export; never changes.
  var name: String { get }
  /// Everything that is kept for the user, as one JSON value without secrets.
  func export(of user: UUID) async throws -> JSONValue
  /// Erases it. Called again until it does not throw, also when it had succeeded; it may be called while the account
  /// is still there and marked, and after it is gone.
  func erase(of user: UUID) async throws
}
