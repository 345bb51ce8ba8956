import Encodings

extension Profile {
  /// The identity and its user after the move: another subject, and another relay address where Apple names one. The
  /// account, its sessions and all else that is known of it stay.
  package static func moved(
    _ identity: Identity, _ user: User, by rekeying: Rekeying, to team: String, now: Int64
  ) -> (identity: Identity, user: User) {
    var (moved, updated) = (identity, user)
    moved.teamID = team
    moved.subject = rekeying.subject
    moved.updatedAt = max(identity.updatedAt, now)
    var data: [(String, JSONValue)] = [
      ("sub", .string(rekeying.subject)), ("provider_id", .string(rekeying.subject)),
    ]
    if let email = rekeying.email.flatMap({ $0.isEmpty ? nil : $0.lowercased() }), email != identity.email {
      moved.email = email
      moved.isPrivateEmail = email.hasSuffix(relayDomain) ? true : rekeying.isPrivateEmail
      // What Apple said before is about the address of before.
      moved.forwardsEmail = nil
      moved.forwardingAt = nil
      data.append(("email", .string(email)))
      if user.email == nil || user.email == identity.email { updated.email = email }
    }
    moved.data = Metadata.merge(.object(data), into: identity.data)
    updated.updatedAt = max(user.updatedAt, now)
    if let place = updated.identities.firstIndex(where: { $0.id == moved.id }) {
      updated.identities[place] = moved
    }
    return (moved, updated)
  }
}
