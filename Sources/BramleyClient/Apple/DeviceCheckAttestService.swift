#if canImport(DeviceCheck) && canImport(CryptoKit)
  public import BramleyAPI
  import CryptoKit
  import DeviceCheck
  import Foundation

  /// This device: DeviceCheck's `DCAppAttestService` and `DCDevice`, and CryptoKit's SHA-256.
  public struct DeviceCheckAttestService: AppAttestService {
    /// The service of this process.
    public init() {}

    /// Whether the device and this kind of process can attest. Xcode's simulator cannot.
    public var isSupported: Bool { DCAppAttestService.shared.isSupported }

    /// A new key in the Secure Enclave.
    public func generateKey() async throws(AppAttestError) -> String {
      do { return try await DCAppAttestService.shared.generateKey() } catch { throw AppAttestError(error) }
    }

    /// Asks Apple to attest the key; takes a network request.
    public func attestKey(
      _ keyID: String, clientDataHash: [UInt8]
    ) async throws(AppAttestError) -> [UInt8] {
      do {
        return Array(
          try await DCAppAttestService.shared.attestKey(keyID, clientDataHash: Data(clientDataHash)))
      } catch {
        throw AppAttestError(error)
      }
    }

    /// Signs with the key; needs no network.
    public func generateAssertion(
      _ keyID: String, clientDataHash: [UInt8]
    ) async throws(AppAttestError) -> [UInt8] {
      do {
        return Array(
          try await DCAppAttestService.shared.generateAssertion(keyID, clientDataHash: Data(clientDataHash)))
      } catch {
        throw AppAttestError(error)
      }
    }

    /// A token of `DCDevice`; nil where there is none, whatever the reason.
    public func deviceToken() async -> String? {
      guard DCDevice.current.isSupported else { return nil }
      return (try? await DCDevice.current.generateToken())?.base64EncodedString()
    }

    /// SHA-256.
    public func sha256(_ bytes: [UInt8]) -> [UInt8] { Array(SHA256.hash(data: bytes)) }
  }

  extension AppAttestError {
    /// What DeviceCheck's error says. A key id that came back out of a backup makes `invalidInput` as well as
    /// `invalidKey`: neither is of any use again.
    fileprivate init(_ error: any Error) {
      guard let error = error as? DCError else {
        self = .unknownSystemFailure
        return
      }
      switch error.code {
      case .featureUnsupported: self = .unsupported
      case .invalidInput, .invalidKey: self = .invalidKey
      case .serverUnavailable: self = .serverUnavailable
      default: self = .unknownSystemFailure
      }
    }
  }
#endif
