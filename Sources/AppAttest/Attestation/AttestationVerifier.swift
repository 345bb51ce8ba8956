import Cryptography

/// A verified attestation: what is to be kept of it.
package struct VerifiedAttestation: Sendable, Equatable {
  /// The key, under its app, environment and anchor.
  package let key: DeviceKey
  /// The first receipt; verify it with `ReceiptVerifier` when it arrives.
  package let receipt: [UInt8]
  /// The signed extensions, whole.
  package let extensions: DeviceExtensions?
}

/// Verifies attestations by Apple's page "Validating apps that connect to your server" and the checks that
/// are free beside it.
///
/// An attestation is judged once, when it arrives: its certificate ends after days. What is kept is the
/// public key; the chain is never looked at again.
package struct AttestationVerifier: Sendable {
  private let apps: [AcceptedApp]
  private let anchors: [TrustAnchor]

  package init(apps: [AcceptedApp], anchors: [TrustAnchor] = TrustAnchors.apple.attestation) {
    self.apps = apps
    self.anchors = anchors
  }

  /// The key of an attestation that holds in every respect. Takes about a millisecond (two P-384
  /// signatures).
  ///
  /// - Parameters:
  ///   - attestation: the attestation object, at most 16 KiB.
  ///   - clientDataHash: what the app passed to `attestKey`; Bramley's is SHA-256 of
  ///     `SignedBytes.registration`, others pass octets of any length.
  ///   - keyID: the decoded key id that the client sent, 32 octets.
  ///   - now: seconds since 1970.
  package func verify(
    _ attestation: [UInt8], clientDataHash: [UInt8], keyID: [UInt8], now: Int64
  ) throws(AttestationError) -> VerifiedAttestation {
    let evaluation = AttestationEvaluation(
      attestation,
      AttestationEvaluation.Expectation(
        apps: apps, clientDataHash: clientDataHash, keyID: keyID, anchors: anchors, now: now))
    for check in AttestationCheck.allCases {
      if case .failed(let error) = evaluation.outcome(of: check) { throw error }
    }
    let object = try evaluation.object.get()
    let data = try evaluation.data.get()
    guard let anchor = try evaluation.chain.get().last?.fingerprint, let app = evaluation.app,
      let environment = data.attestedKey?.environment,
      let publicKey = evaluation.publicKey
    else { throw .structure }
    let key = DeviceKey(
      keyID: keyID, publicKey: publicKey, appID: app.id, environment: environment, anchor: anchor,
      registeredAt: now, facts: evaluation.facts)
    return VerifiedAttestation(key: key, receipt: object.receipt, extensions: data.extensions)
  }
}

extension AttestationEvaluation {
  /// What the certificate and the extensions say of the device.
  var facts: DeviceFacts {
    let extensions = (try? data.get())?.extensions
    return DeviceFacts(
      osVersion: leafExtensions?.osVersion, osBuild: leafExtensions?.osBuild,
      platform: leafExtensions?.platform, bundleVersion: extensions?.bundleVersion,
      validationCategory: extensions?.validationCategory)
  }
}
