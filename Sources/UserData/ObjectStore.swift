package import Encodings

/// What objects cost who paid for them: how a reservation of money ends whose server dies after they are kept and before
/// that is booked. So what was made and what it cost are known together, or neither is.
package struct SpendingNote: Sendable, Equatable {
  /// The reservation's id.
  package var reservation: [UInt8]
  /// As its row has it.
  package var ending: [UInt8]

  package init(reservation: [UInt8], ending: [UInt8]) {
    self.reservation = reservation
    self.ending = ending
  }
}

/// Objects of users: rows in the database, or elsewhere. Each method is one atomic step; none tells anything of another
/// user's objects. Milliseconds.
package protocol ObjectStore: Sendable {
  /// Keeps all of them or none, where the limits of their user leave room. Drafts that are kept already, by their
  /// ids, are kept once. They are one user's.
  ///
  /// - Parameter note: is written in the same step; nil for nothing.
  func put(
    _ drafts: [ObjectDraft], within limits: ObjectLimits, noting note: SpendingNote?
  ) async throws -> ObjectRefusal?
  /// How much is kept for the user.
  func standing(of user: UUID) async throws -> ObjectStanding
  /// The user's object at that place.
  func object(_ path: ObjectPath, in bucket: String, of user: UUID) async throws -> StoredObject?
  /// The user's objects by the order of buckets and paths, those that come after that one, at most so many.
  func objects(of user: UUID, after: StoredObject?, limit: Int64) async throws -> [StoredObject]
  /// The user's objects in a folder and its folders, by the order of octets of their paths, those that come after that
  /// path, at most so many.
  ///
  /// - Parameter folder: `""` for the bucket, else with the slash that ends it.
  func objects(
    of user: UUID, in bucket: String, folder: String, after path: String, limit: Int64
  ) async throws -> [StoredObject]
  /// What one making kept for the user, by the name of its maker: of several makings the last one's, by path.
  func objects(of user: UUID, origin: [UInt8]) async throws -> [StoredObject]
  /// Octets of an object's content: the piece of that number, from 0 on; nil behind the last.
  func piece(_ number: Int64, of id: UUID) async throws -> [UInt8]?
  /// Removes the user's objects of these paths; those that were there.
  func remove(_ paths: [ObjectPath], in bucket: String, of user: UUID) async throws -> [StoredObject]
  /// Removes everything of the user's, who may be gone already; how many objects.
  func erase(of user: UUID) async throws -> Int
}

extension ObjectStore {
  package func put(_ drafts: [ObjectDraft], within limits: ObjectLimits) async throws -> ObjectRefusal? {
    try await put(drafts, within: limits, noting: nil)
  }
}
