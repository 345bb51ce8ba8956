import Admission
import Encodings
import SQL

/// Users who become a key's, among nodes: they are locked before the keys, as whoever deletes or bans them does. That
/// is a lock which no other request needs, so a batch takes it once it has found out, and begins anew for that.
extension SharedLedgerBook {
  /// Locks those that are needed, but whom somebody else holds: a deletion may hold its user for long, and
  /// the other requests of the batch are not to wait for that.
  var lockingUsers: Query? {
    lockedUserIDs.map {
      Query(
        """
        select id, banned_until, deleting_since from users where id = any($1::text[]::uuid[]) order by id
        for share skip locked
        """, [$0])
    }
  }

  /// Those of them who are there; asked after the locks, so that whoever is found here alone is held by somebody.
  var existingUsers: Query? {
    lockedUserIDs.map { Query("select id from users where id = any($1::text[]::uuid[])", [$0]) }
  }

  private var lockedUserIDs: SQLValue? {
    let ids = needs.users.compactMap { UUID($0)?.description }.sorted()
    return ids.isEmpty ? nil : .texts(ids)
  }

  /// - Parameter row: of ``existingUsers``, whose rows come after those of ``lockingUsers``.
  func add(existingUser row: Row) throws {
    let id = try row.uuid(0).description
    if users[id] == nil { heldUsers.insert(id) }
  }

  func add(user row: Row) throws {
    users[try row.uuid(0).description] = LedgerUsers.Standing(row, from: 1)
  }

  /// Lacks the users of whom one is to become a key's and is not locked, and those who, as a session may be, are held by
  /// somebody else and may be waited for.
  func demandUsers(_ requests: [AdmissionRequest]) {
    if !(heldUsers.isEmpty && heldSessions.isEmpty), waitsForUsers { lacking.waits = 1 }
    var isChanging = false
    var named: Set<String> = []
    for request in requests {
      guard case .assertion(let keyID, _, _) = request.evidence, let user = request.user,
        UUID(user.id) != nil
      else { continue }
      named.insert(user.id)
      if let device = devices[keyID], device.userID != user.id { isChanging = true }
    }
    // Where one changes, another of the batch may change it back.
    if isChanging { lacking.users.formUnion(named.subtracting(needs.users)) }
  }

  func refusal(ofUser id: String, now: Int64) throws -> AdmissionRefusal? {
    guard let user = UUID(id) else { return nil }
    guard needs.users.contains(id) else {
      lacking.users.insert(id)
      return nil
    }
    return refusal(ofLocked: user, now: now)
  }

  /// As with users: the sessions that are locked, so that none ends before this is committed, and those that are there.
  static func accountSessions(_ ids: Set<[UInt8]>) -> (locking: Query, existing: Query) {
    let ids = SQLValue.texts(ids.compactMap { UUID(octets: $0)?.description }.sorted())
    let select = "select id from sessions where id = any($1::text[]::uuid[])"
    return (Query("\(select) order by id for key share skip locked", [ids]), Query(select, [ids]))
  }

  func add(existingSession id: [UInt8]) {
    if !openSessions.contains(id) { heldSessions.insert(id) }
  }

  func refusal(ofSession id: [UInt8]) throws -> AdmissionRefusal? {
    if openSessions.contains(id) { return nil }
    return heldSessions.contains(id) ? .userHeld : .sessionOver
  }

  private func refusal(ofLocked user: UUID, now: Int64) -> AdmissionRefusal? {
    if heldUsers.contains(user.description) { return .userHeld }
    return LedgerUsers.refusal(of: users[user.description], now: now)
  }

  /// Those of the requests' users who are locked and may not become a key's.
  func refusedUsers(_ requests: [AdmissionRequest]) -> Set<String> {
    guard !needs.users.isEmpty else { return [] }
    let refused = requests.filter { request in
      guard let id = request.user?.id, let user = UUID(id), needs.users.contains(id) else { return false }
      return refusal(ofLocked: user, now: request.now) != nil
    }
    return Set(refused.compactMap(\.user?.id))
  }
}
