package import Cryptography

/// A certificate that chains may end in.
package struct TrustAnchor: Sendable, Equatable {
  package let certificate: Certificate
  /// SHA-256 of its encoding, 32 octets: what a registered key remembers (RULES §1.6).
  package let fingerprint: [UInt8]

  package init(_ certificate: Certificate) {
    self.certificate = certificate
    fingerprint = certificate.fingerprint
  }

  /// The anchor in a PEM text with exactly one certificate.
  package init(pem: String) throws(CertificateError) {
    let certificates = try Certificate.all(pem: pem)
    guard certificates.count == 1 else { throw .malformed }
    self.init(certificates[0])
  }
}

/// Whom attestations and receipts are believed from. Apple's are the default; a simulator's are added by
/// configuration alone.
package struct TrustAnchors: Sendable, Equatable {
  /// Of attestation certificates.
  package var attestation: [TrustAnchor]
  /// Of receipt signers.
  package var receipt: [TrustAnchor]

  package init(attestation: [TrustAnchor], receipt: [TrustAnchor]) {
    self.attestation = attestation
    self.receipt = receipt
  }

  /// Apple App Attestation Root CA, and Apple Root CA - G3.
  package static let apple: TrustAnchors = {
    do {
      return TrustAnchors(
        attestation: [try TrustAnchor(pem: AppleRoots.appAttestationRootCA)],
        receipt: [try TrustAnchor(pem: AppleRoots.rootCAG3)])
    } catch {
      preconditionFailure("the constants in AppleRoots are certificates")
    }
  }()
}
