import Cryptography

/// An app whose devices are taken.
package struct AcceptedApp: Sendable, Equatable {
  /// App ID prefix, a dot and the bundle id. App Clips have that of their full app.
  package let id: String
  /// The environments whose keys are taken.
  package let environments: Set<AttestEnvironment>
  /// What its builds must say of themselves.
  package let extensionPolicy: ExtensionPolicy
  /// SHA-256 of the id, 32 octets.
  package let rpIDHash: [UInt8]

  package init(
    id: String, environments: Set<AttestEnvironment>, extensionPolicy: ExtensionPolicy = ExtensionPolicy()
  ) {
    self.id = id
    self.environments = environments
    self.extensionPolicy = extensionPolicy
    rpIDHash = SHA256.hash(id)
  }
}

/// What the signed extensions must say; by itself it demands nothing.
package struct ExtensionPolicy: Sendable, Equatable {
  /// The validation categories that are taken; nil takes all.
  package var categories: Set<UInt32>?
  /// The bundle versions that are taken; nil takes all.
  package var bundleVersions: Set<String>?
  /// Whether a device that says nothing is taken: no OS before 27 says anything.
  package var acceptsAbsent: Bool

  package init(
    categories: Set<UInt32>? = nil, bundleVersions: Set<String>? = nil, acceptsAbsent: Bool = true
  ) {
    self.categories = categories
    self.bundleVersions = bundleVersions
    self.acceptsAbsent = acceptsAbsent
  }

  /// Whether a device that says `extensions` is taken.
  package func accepts(_ extensions: DeviceExtensions?) -> Bool {
    allows(extensions?.validationCategory, among: categories)
      && allows(extensions?.bundleVersion, among: bundleVersions)
  }

  private func allows<Value: Hashable>(_ value: Value?, among allowed: Set<Value>?) -> Bool {
    guard let allowed else { return true }
    guard let value else { return acceptsAbsent }
    return allowed.contains(value)
  }
}
