/// The signed extension map that OS 27 puts into authenticator data: what build asked.
///
/// Apple's pages call its keys `bundleVersion` and `validationCategory`; devices write
/// `apple_bundle_version_01` and `apple_validation_category_01`. Both are read; unknown keys are left alone.
package struct DeviceExtensions: Sendable, Equatable {
  /// The build's version, such as `1314`.
  package var bundleVersion: String?
  /// How the build was distributed: 0 invalid, 1 part of the OS, 2 TestFlight, 3 development-signed, 4 App
  /// Store, 5 enterprise or ad hoc, 6 Developer ID, 10 uncategorized.
  package var validationCategory: UInt32?
  /// macOS: the code directory's hash.
  package var codeDirectoryHash: [UInt8]?

  package init(
    bundleVersion: String? = nil, validationCategory: UInt32? = nil, codeDirectoryHash: [UInt8]? = nil
  ) {
    self.bundleVersion = bundleVersion
    self.validationCategory = validationCategory
    self.codeDirectoryHash = codeDirectoryHash
  }

  /// Reads the map, to its last octet.
  init(_ bytes: ArraySlice<UInt8>) throws(AuthenticatorDataError) {
    let value: CBORValue
    do throws(CBORError) { value = try CBORReader.single(bytes) } catch { throw .extensions(error) }
    guard case .map = value else { throw .unexpectedExtension }
    if let version = try Self.one(of: ["apple_bundle_version_01", "bundleVersion"], in: value) {
      guard let text = version.text else { throw .unexpectedExtension }
      bundleVersion = text
    }
    if let category = try Self.one(of: ["apple_validation_category_01", "validationCategory"], in: value) {
      validationCategory = try Self.category(category)
    }
    if let hash = value["apple_cd_hash_hash_01"] {
      guard let octets = hash.bytes else { throw .unexpectedExtension }
      codeDirectoryHash = Array(octets)
    }
  }

  /// The value under one of two names; both at once would leave open which counts.
  private static func one(
    of names: [String], in map: CBORValue
  ) throws(AuthenticatorDataError) -> CBORValue? {
    let values = names.compactMap { map[$0] }
    guard values.count <= 1 else { throw .unexpectedExtension }
    return values.first
  }

  /// Devices write four octets, the least significant first; Apple's text says a number.
  private static func category(_ value: CBORValue) throws(AuthenticatorDataError) -> UInt32 {
    switch value {
    case .bytes(let octets) where octets.count == 4:
      return octets.reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    case .unsigned(let number):
      guard let category = UInt32(exactly: number) else { throw .unexpectedExtension }
      return category
    default: throw .unexpectedExtension
    }
  }
}
