import Accounts

/// The names under which counters outlive accounts, by the secret that all nodes share.
actor Persons {
  private let store: any SigningKeyStore
  private let random: @Sendable (Int) -> [UInt8]
  private var names: PersonNames?

  init(_ store: any SigningKeyStore, random: @escaping @Sendable (Int) -> [UInt8]) {
    self.store = store
    self.random = random
  }

  /// nil for an anonymous user. Throws a ``Failure``.
  func name(of user: User) async throws -> String? {
    if user.identities.isEmpty { return nil }
    if let names { return names.name(of: user) }
    let fresh = random(32)
    let made = PersonNames(secret: try await storage { try await store.personSecret(fresh: fresh) })
    names = made
    return made.name(of: user)
  }
}
