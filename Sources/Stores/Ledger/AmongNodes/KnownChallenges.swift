import Admission
import SQL

/// What is known of a batch's challenges, which nobody else consumes before it is committed: those with a row are
/// locked, and so are the keys of the others.
struct KnownChallenges {
  var floor = Int64.max
  /// The random parts of those that are consumed.
  var consumed: Set<[UInt8]> = []
  /// How many tokens keys have minted; none of a key that has never.
  var mints: [[UInt8]: Int64] = [:]

  static func consumed(_ randoms: Set<[UInt8]>) -> Query {
    Query("select random from consumed_challenges where random = any($1)", [.blobs(Array(randoms))])
  }

  static func mints(_ keyIDs: Set<[UInt8]>) -> Query {
    Query(
      "select k.key_id, m.mints from token_mints m join device_keys k on k.id = m.device where k.key_id = any($1)",
      [.blobs(Array(keyIDs))])
  }

  /// False where it was consumed before, also in this batch, or expires at or below the floor.
  mutating func consume(_ challenge: ConsumedChallenge, keyID: [UInt8]) -> Bool {
    switch challenge {
    case .row(let random, let expiry): return expiry > floor && consumed.insert(random).inserted
    case .mint(let count):
      if let minted = mints[keyID], minted != count { return false }
      mints[keyID] = count &+ 1
      return true
    }
  }
}
