import Encodings

/// What an operator says of a user, as Supabase Auth's admin API has it.
struct AdministeredUser: Sendable {
  var email: String?
  var isEmailConfirmed: Bool
  var userMetadata: JSONValue?
  var appMetadata: JSONValue?
  var ban: Ban?

  init(_ body: AccountBody) throws(Failure) {
    if try body.text("phone") != nil { throw .phoneSignUpsDisabled }
    if body["password"] != nil || body["password_hash"] != nil {
      throw .validation("Passwords are disabled")
    }
    email = try body.text("email")?.lowercased()
    if let email {
      let parts = email.split(separator: "@", omittingEmptySubsequences: false)
      let isPlain = email.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F }
      guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty }), email.utf8.count <= 254, isPlain else {
        throw .validation("Unable to validate email address: invalid format")
      }
    }
    isEmailConfirmed = try body.flag("email_confirm")
    userMetadata = try body.object("user_metadata")
    appMetadata = try body.object("app_metadata")
    ban = nil
    guard let text = try body.text("ban_duration") else { return }
    guard let ban = Ban(text) else {
      throw .validation("invalid format for ban duration: write none, or a duration such as 24h")
    }
    self.ban = ban
  }
}

/// How long a user is banned: `none`, or a duration as Go writes it, such as `1h30m`.
enum Ban: Sendable, Equatable {
  case none
  /// Milliseconds.
  case lasting(Int64)

  /// nil for what is neither.
  init?(_ text: String) {
    if text == "none" {
      self = .none
      return
    }
    var rest = Array(text.utf8)[...]
    guard !rest.isEmpty, rest.count <= 64 else { return nil }
    var total = 0.0
    while !rest.isEmpty {
      let number = rest.prefix { (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") }
      rest = rest.dropFirst(number.count)
      let unit = rest.prefix { !((0x30...0x39).contains($0) || $0 == UInt8(ascii: ".")) }
      rest = rest.dropFirst(unit.count)
      guard let value = Double(String(decoding: number, as: UTF8.self)),
        let factor = Self.units[String(decoding: unit, as: UTF8.self)]
      else { return nil }
      total += value * factor
    }
    // Go's durations end at 292 years.
    guard total > 0, total <= 9_223_372_036_854 else { return nil }
    self = .lasting(Int64(total))
  }

  /// In milliseconds.
  private static let units: [String: Double] = [
    "ns": 1e-6, "us": 1e-3, "µs": 1e-3, "μs": 1e-3, "ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000,
  ]

  /// When it ends, milliseconds since 1970; nil for none.
  func end(now: Int64) -> Int64? {
    switch self {
    case .none: nil
    case .lasting(let duration): now + duration
    }
  }
}
