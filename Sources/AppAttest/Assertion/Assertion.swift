package import Cryptography

/// What an assertion proved: that its key signed the client data. Whether its counter is new is decided
/// where it is stored (`CounterWindow`).
package struct VerifiedAssertion: Sendable, Equatable {
  package let counter: UInt32
  /// Where the OS writes them (27 and later).
  package let extensions: DeviceExtensions?
}

/// The assertion that `generateAssertion` gives, decoded and not yet believed.
package struct Assertion: Sendable, Equatable {
  /// Real ones have at most 256 octets.
  package static let maximumLength = 4_096

  /// ECDSA in DER.
  package let signature: [UInt8]
  /// The authenticator data as it was signed.
  package let signedData: ArraySlice<UInt8>
  /// The same, read.
  package let authenticatorData: AuthenticatorData

  /// Decodes strictly, in any order of members; unknown ones are left alone, they are not signed.
  package init(_ bytes: [UInt8]) throws(AssertionError) {
    guard bytes.count <= Self.maximumLength else { throw .tooLarge }
    let object: CBORValue
    do throws(CBORError) { object = try CBORReader.single(bytes[...]) } catch { throw .encoding(error) }
    guard let signature = object["signature"]?.bytes, let data = object["authenticatorData"]?.bytes else {
      throw .structure
    }
    self.signature = Array(signature)
    signedData = data
    do throws(AuthenticatorDataError) {
      authenticatorData = try AuthenticatorData.assertion(data)
    } catch {
      throw .authenticatorData(error)
    }
  }

  /// Whether `key` signed it with that client data. The nonce, SHA256(authenticator data ‖ client data
  /// hash), is the *message* of the signature, so SHA-256 is applied to it once more: so do all real devices.
  package func isSigned(by key: P256.PublicKey, clientDataHash: [UInt8]) -> Bool {
    key.isValid(signature: signature, for: SHA256.hash(Array(signedData) + clientDataHash))
  }

  /// The counter of an assertion that holds. Costs little beside the signature (about 45 µs) when `key` comes
  /// from a `PublicKeyCache`.
  ///
  /// - Parameters:
  ///   - assertion: at most 4 KiB.
  ///   - clientDataHash: SHA-256 of the client data; Bramley's is that of `SignedBytes.request` or
  ///     `SignedBytes.tokenExchange`.
  ///   - key: the registered key's.
  ///   - app: the registered key's app.
  package static func verify(
    _ assertion: [UInt8], clientDataHash: [UInt8], key: P256.PublicKey, app: AcceptedApp
  ) throws(AssertionError) -> VerifiedAssertion {
    let assertion = try Assertion(assertion)
    guard assertion.isSigned(by: key, clientDataHash: clientDataHash) else { throw .badSignature }
    let data = assertion.authenticatorData
    guard data.rpIDHash == app.rpIDHash else { throw .appMismatch }
    guard app.extensionPolicy.accepts(data.extensions) else { throw .extensionPolicy }
    return VerifiedAssertion(counter: data.counter, extensions: data.extensions)
  }
}
