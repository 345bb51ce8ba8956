#if canImport(DeviceCheck) && canImport(CryptoKit) && canImport(Security)
  import Foundation

  extension BramleyClient {
    /// A client on this device: DeviceCheck, URLSession and the Keychain.
    ///
    /// - Parameters:
    ///   - baseURL: the server, https.
    ///   - accessGroup: shares the key's id with the app's extensions and its App Clip.
    public init(baseURL: String, accessGroup: String? = nil) throws(BramleyError) {
      // A key of a development build is of another environment than one of the same app from the store.
      #if DEBUG
        let account = baseURL + " debug"
      #else
        let account = baseURL
      #endif
      try self.init(
        baseURL: baseURL, transport: URLSessionTransport(), attestation: DeviceCheckAttestService(),
        storage: KeychainKeyIDStorage(account: account, accessGroup: accessGroup),
        now: { Int64(Date().timeIntervalSince1970) })
    }
  }
#endif
