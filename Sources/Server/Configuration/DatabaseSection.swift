extension Configuration {
  /// Reads `database.url`: where PostgreSQL is.
  static func databaseURL(_ section: ConfigurationSection) -> Secret? {
    let remedy = "write postgresql://user@host/database, and its password in { \"env\": \"NAME\" }"
    if let entry = section.writtenText("url"), let text = entry.string() {
      guard isPostgres(text) else {
        section.reading.mistake(entry, "this is no PostgreSQL URL", remedy)
        return nil
      }
      if hasPassword(text) {
        section.reading.mistake(
          entry, "a password stands in the file",
          "give the whole URL by { \"env\": \"NAME\" } or { \"file\": \"/path\" }")
      }
      return Secret(text)
    }
    guard let secret = section.secret("url") else { return nil }
    if !isPostgres(secret.value) {
      section.reading.mistake(section.fullPath("url"), section.here, "this is no PostgreSQL URL", remedy)
    }
    return secret
  }

  private static func isPostgres(_ text: String) -> Bool {
    text.hasPrefix("postgresql://") || text.hasPrefix("postgres://")
  }

  private static func hasPassword(_ text: String) -> Bool {
    let rest = text.drop { $0 != "/" }.dropFirst(2)
    let authority = rest.prefix { $0 != "/" && $0 != "?" }
    let user = authority.split(separator: "@", omittingEmptySubsequences: false)
    let inUser = user.count > 1 && user.dropLast().joined().contains(":")
    let names = text.drop { $0 != "?" }.dropFirst().split(separator: "&").map { $0.prefix { $0 != "=" } }
    return inUser || names.contains("password")
  }
}
