package import Encodings

/// What an identity token tells of a person: kept when it first comes, never overwritten by nothing, and never a key.
package enum Profile {
  /// The domain of Apple's relay addresses.
  package static let relayDomain = "@privaterelay.appleid.com"

  /// A new identity of a user.
  package static func identity(_ signIn: IdentitySignIn, of user: UUID) -> Identity {
    let assertion = signIn.assertion
    return Identity(
      id: signIn.identity, userID: user, provider: assertion.provider, teamID: assertion.teamID,
      subject: assertion.subject, email: address(assertion), isPrivateEmail: isPrivate(assertion),
      consentAt: assertion.issuedAt, data: data(assertion, before: .object([])), createdAt: signIn.now,
      updatedAt: signIn.now, lastSignInAt: signIn.now)
  }

  /// The identity after another sign-in with it: live, whatever it was before.
  package static func updated(_ identity: Identity, by assertion: IdentityAssertion, now: Int64) -> Identity {
    var identity = identity
    identity.status = .live
    identity.consentAt = max(identity.consentAt, assertion.issuedAt)
    if let email = address(assertion) {
      if let known = identity.email, known != email {
        // What Apple said before is about the address of before.
        identity.forwardsEmail = nil
        identity.forwardingAt = assertion.issuedAt
      }
      identity.email = email
      identity.isPrivateEmail = isPrivate(assertion)
    }
    identity.data = data(assertion, before: identity.data)
    identity.updatedAt = now
    identity.lastSignInAt = now
    return identity
  }

  /// The user after a sign-in: where mail reaches them follows the identity that it came from, their own address
  /// and their name stay once they are known.
  ///
  /// - Parameter before: the identity's address until now; nil for a new identity.
  package static func updated(
    _ user: User, by assertion: IdentityAssertion, before: String?, now: Int64
  ) -> User {
    var user = user
    if let email = address(assertion) {
      if user.email == nil || user.email == before, user.email != email || user.emailConfirmedAt == nil {
        user.email = email
        user.emailConfirmedAt = assertion.isEmailVerified ? now : nil
      }
      if assertion.isEmailVerified, isPrivate(assertion) != true { user.realEmail = email }
    }
    user.userMetadata = metadata(user, assertion)
    user.isAnonymous = false
    user.lastSignInAt = now
    user.updatedAt = now
    return user
  }

  /// The user without an identity: mail goes to another one's address where it went to this one's.
  package static func updated(_ user: User, unlinking identity: Identity, now: Int64) -> User {
    var user = user
    user.identities.removeAll { $0.id == identity.id }
    if user.email != nil, user.email == identity.email {
      let other = user.identities.first { $0.email != nil }
      user.email = other?.email
      if other == nil { user.emailConfirmedAt = nil }
    }
    user.updatedAt = now
    return user
  }

  /// The token's address; nil for none.
  package static func address(_ assertion: IdentityAssertion) -> String? {
    assertion.email.flatMap { $0.isEmpty ? nil : $0 }
  }

  /// Whether the token's address is a relay's; nil where that is not known.
  package static func isPrivate(_ assertion: IdentityAssertion) -> Bool? {
    guard let email = address(assertion) else { return nil }
    return email.hasSuffix(relayDomain) ? true : assertion.isPrivateEmail
  }

  private static func data(_ assertion: IdentityAssertion, before: JSONValue) -> JSONValue {
    let email = address(assertion)
    var custom: [(String, JSONValue)] = []
    if let time = assertion.authTime { custom.append(("auth_time", .integer(time / 1_000))) }
    if let isPrivate = isPrivate(assertion) { custom.append(("is_private_email", .bool(isPrivate))) }
    if let subject = assertion.transferSubject { custom.append(("transfer_sub", .string(subject))) }
    let kept = Metadata.member("custom_claims", of: before) ?? .object([])
    var members: [(String, JSONValue)] = [
      ("iss", .string(assertion.issuer)), ("sub", .string(assertion.subject)),
      ("provider_id", .string(assertion.subject)),
    ]
    if let email {
      members += [("email", .string(email)), ("email_verified", .bool(assertion.isEmailVerified))]
    } else if Metadata.member("email_verified", of: before) == nil {
      members.append(("email_verified", false))
    }
    members += [
      ("phone_verified", false), ("custom_claims", Metadata.merge(.object(custom), into: kept)),
    ]
    return Metadata.merge(.object(members + name(assertion)), into: before)
  }

  /// The name's members that the user has not; the app may have let them correct it since it first came.
  private static func metadata(_ user: User, _ assertion: IdentityAssertion) -> JSONValue {
    let verified = user.email != nil && user.emailConfirmedAt != nil
    var merged = Metadata.merge(["email_verified": .bool(verified)], into: user.userMetadata)
    if !fits(merged, user) { merged = user.userMetadata }
    for (name, value) in name(assertion) {
      let known = Metadata.member(name, of: merged)
      guard known == nil || known == "" else { continue }
      let more = Metadata.merge(.object([(name, value)]), into: merged)
      if fits(more, user) { merged = more }
    }
    return merged
  }

  /// Whether it may be stored, and every token of the user with it be signed.
  private static func fits(_ metadata: JSONValue, _ user: User) -> Bool {
    guard Metadata.fits(metadata) else { return false }
    var user = user
    user.userMetadata = metadata
    return user.fitsToken
  }

  private static func name(_ assertion: IdentityAssertion) -> [(String, JSONValue)] {
    func part(_ text: String?) -> String? { text.flatMap { $0.isEmpty ? nil : $0 } }
    let (given, family) = (part(assertion.fullName?.given), part(assertion.fullName?.family))
    guard given != nil || family != nil else { return [] }
    let full = [given, family].compactMap { $0 }.joined(separator: " ")
    var members: [(String, JSONValue)] = [("name", .string(full)), ("full_name", .string(full))]
    if let given { members.append(("given_name", .string(given))) }
    if let family { members.append(("family_name", .string(family))) }
    return members
  }
}
