import Accounts
import Encodings

extension User {
  /// The user as Supabase Auth writes one, its members in that order; `may_contact` and `may_market` are Bramley's own.
  var json: JSONValue {
    var out: [(String, JSONValue)] = [
      ("id", .string(id.description)), ("aud", "authenticated"), ("role", "authenticated"),
      ("email", .string(email ?? "")),
    ]
    if let emailConfirmedAt { out.append(("email_confirmed_at", .time(emailConfirmedAt))) }
    out.append(("phone", ""))
    if let emailConfirmedAt { out.append(("confirmed_at", .time(emailConfirmedAt))) }
    if let lastSignInAt { out.append(("last_sign_in_at", .time(lastSignInAt))) }
    out.append(("app_metadata", appMetadata))
    out.append(("user_metadata", userMetadata))
    out.append(("identities", .array(identities.map(\.json))))
    out.append(("created_at", .time(createdAt)))
    out.append(("updated_at", .time(updatedAt)))
    if let bannedUntil { out.append(("banned_until", .time(bannedUntil))) }
    out.append(("is_anonymous", .bool(isAnonymous)))
    let contact = MailContact(self)
    out.append(("may_contact", .bool(contact?.mayContact ?? false)))
    out.append(("may_market", .bool(contact?.mayMarket ?? false)))
    return .object(out)
  }
}

extension Identity {
  /// The identity as Supabase Auth writes one. `identity_data` is always there: without it some clients fail.
  var json: JSONValue {
    var out: [(String, JSONValue)] = [
      ("identity_id", .string(id.description)), ("id", .string(subject)),
      ("user_id", .string(userID.description)), ("identity_data", data), ("provider", .string(provider)),
      ("last_sign_in_at", .time(lastSignInAt)), ("created_at", .time(createdAt)),
      ("updated_at", .time(updatedAt)),
    ]
    if let email { out.append(("email", .string(email))) }
    if let forwardsEmail { out.append(("email_forwarding", .bool(forwardsEmail))) }
    if status == .revoked { out.append(("revoked", true)) }
    return .object(out)
  }
}

extension JSONValue {
  /// The last millisecond that RFC 3339 can write: a ban for good ends there.
  private static let lastTime: Int64 = 253_402_300_799_999

  /// An instant, milliseconds since 1970, in RFC 3339 with `Z`.
  static func time(_ milliseconds: Int64) -> JSONValue {
    let instant = min(max(milliseconds, 0), lastTime)
    let whole = CivilTime(secondsSince1970: instant / 1000).rfc3339
    let fraction = instant % 1000
    if fraction == 0 { return .string(whole) }
    return .string(whole.dropLast() + "." + String(1000 + fraction).dropFirst() + "Z")
  }
}
