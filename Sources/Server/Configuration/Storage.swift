package import UserData

extension Configuration {
  /// What is kept of users' objects.
  package struct Storage: Sendable, Equatable {
    /// Objects a user may have.
    package var objectsPerUser: Int64 = 500
    /// Octets of all of a user's objects.
    package var bytesPerUser: Int64 = 200 << 20
    /// Octets of what one call of a function makes.
    package var bytesPerResult: Int64 = 20 << 20

    package init() {}

    package var limits: ObjectLimits { ObjectLimits(count: objectsPerUser, bytes: bytesPerUser) }
  }

  /// Reads `storage`.
  static func storage(_ section: ConfigurationSection, into out: inout Configuration) {
    if let value = section.entry("objects_per_user")?.integer(1...10_000) {
      out.storage.objectsPerUser = value
    }
    if let value = section.entry("bytes_per_user")?.integer(1_024...17_179_869_184) {
      out.storage.bytesPerUser = value
    }
    if let value = section.entry("bytes_per_result")?.integer(1_024...20_971_520) {
      out.storage.bytesPerResult = value
    }
    if out.storage.bytesPerResult > out.storage.bytesPerUser {
      section.reading.mistake(
        "storage.bytes_per_user", section.here, "one result has no room",
        "write \(out.storage.bytesPerResult) or more, or less for bytes_per_result")
    }
    section.finish()
  }
}
