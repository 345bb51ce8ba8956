import AppAttest
import BramleyAPI
import Cryptography

/// Verifies an attestation with its receipt. About a millisecond: run away from the loop.
struct RegistrationCheck: Sendable {
  private let audiences: [String]
  private let attestations: AttestationVerifier
  private let receipts: ReceiptVerifier
  private let maximumAge: Int64

  init(_ attest: Configuration.Attest) {
    audiences = attest.audiences
    let anchors = attest.anchors
    attestations = AttestationVerifier(apps: attest.acceptedApps, anchors: anchors.attestation)
    receipts = ReceiptVerifier(anchors: anchors.receipt)
    maximumAge = attest.receiptMaximumAge
  }

  /// The verdict. The audience is one of ours, and which one the attestation says.
  ///
  /// - Parameter now: seconds since 1970.
  func verdict(_ registration: Registration, challenge: Challenge, now: Int64) -> RegistrationVerdict {
    let hashes = audiences.map {
      SHA256.hash(SignedBytes.registration(audience: $0, challenge: challenge.bytes))
    }
    return verdict(registration.attestation, of: registration.keyID, for: hashes, now: now)
  }

  /// The verdict on an attestation for one of these hashes of the client data; which one the attestation says.
  ///
  /// - Parameter now: seconds since 1970.
  func verdict(
    _ attestation: [UInt8], of keyID: [UInt8], for hashes: [[UInt8]], now: Int64
  ) -> RegistrationVerdict {
    var last = AttestationError.nonceMismatch
    for hash in hashes {
      do throws(AttestationError) {
        let verified = try attestations.verify(attestation, clientDataHash: hash, keyID: keyID, now: now)
        return receipt(of: verified, clientDataHash: hash, now: now)
      } catch {
        last = error
        if error != .nonceMismatch { break }
      }
    }
    return .refused(Self.failure(last))
  }

  private func receipt(
    of verified: VerifiedAttestation, clientDataHash: [UInt8], now: Int64
  ) -> RegistrationVerdict {
    do throws(ReceiptError) {
      _ = try receipts.verify(
        verified.receipt, kind: .attest, key: verified.key, clientDataHash: clientDataHash, now: now,
        maximumAge: maximumAge)
      return .verified(verified.key, receipt: verified.receipt)
    } catch {
      return .refused(.attestationInvalid("receipt: \(error)"))
    }
  }

  private static func failure(_ error: AttestationError) -> Failure {
    switch error {
    case .appMismatch: .appMismatch
    case .environmentMismatch: .environmentMismatch
    case .extensionPolicy: .buildNotAccepted
    default: .attestationInvalid("attestation: \(error)")
    }
  }
}
