#if canImport(Security)
  import Foundation
  import Security

  /// Keeps the key's id in the Keychain of this device: it goes into no backup and to no other device, since
  /// the key does not either.
  public struct KeychainKeyIDStorage: KeyIDStorage {
    /// A refusal of the Keychain's, such as before the first unlock.
    public struct Failure: Error, Equatable, Sendable {
      /// `OSStatus`.
      public let status: Int32
    }

    private let service: String
    private let account: String
    private let accessGroup: String?

    /// A place in the Keychain.
    ///
    /// - Parameters:
    ///   - account: names the server and the environment: development builds have keys of their own.
    ///   - service: names the use.
    ///   - accessGroup: shares it with the app's extensions and its App Clip, which use the same key.
    public init(account: String, service: String = "bramley.app-attest", accessGroup: String? = nil) {
      self.account = account
      self.service = service
      self.accessGroup = accessGroup
    }

    /// What was saved. Throws ``Failure`` when the Keychain is locked: that is not the same as nothing.
    public func load() throws -> StoredKey? {
      var query = place
      query[kSecReturnData as String] = true
      query[kSecMatchLimit as String] = kSecMatchLimitOne
      var found: CFTypeRef?
      let status = unsafe SecItemCopyMatching(query as CFDictionary, &found)
      if status == errSecItemNotFound { return nil }
      guard status == errSecSuccess, let data = found as? Data else { throw Failure(status: status) }
      return StoredKey(text: String(decoding: data, as: UTF8.self))
    }

    /// Replaces what was saved.
    public func save(_ key: StoredKey) throws {
      let values: [String: Any] = [
        kSecValueData as String: Data(key.text.utf8),
        kSecAttrAccessible as String: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
      ]
      var status = SecItemUpdate(place as CFDictionary, values as CFDictionary)
      if status == errSecItemNotFound {
        let item = place.merging(values) { _, new in new }
        status = SecItemAdd(item as CFDictionary, nil)
      }
      guard status == errSecSuccess else { throw Failure(status: status) }
    }

    private var place: [String: Any] {
      var query: [String: Any] = [
        kSecClass as String: kSecClassGenericPassword,
        kSecAttrService as String: service,
        kSecAttrAccount as String: account,
        kSecAttrSynchronizable as String: false,
        kSecUseDataProtectionKeychain as String: true,
      ]
      if let accessGroup { query[kSecAttrAccessGroup as String] = accessGroup }
      return query
    }
  }
#endif
