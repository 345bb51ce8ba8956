package import Cryptography

/// Why a receipt is refused: a case for each step of Apple's page "Assessing fraud risk", and one for each
/// thing checked beyond it.
package enum ReceiptError: Error, Equatable, Sendable {
  /// More than 64 KiB.
  case tooLarge
  /// No SignedData by one signer whose certificate came along.
  case encoding
  /// The signature is over attributes, as in receipts of August to early October 2020, which do not verify.
  case signedAttributes
  /// Step 1: the signature does not hold over the content.
  case badSignature
  /// Step 3: a field is missing, stands twice or has another form.
  case content
  /// Step 2: the signer's chain did not hold when the receipt was made.
  case chain(CertificateError)
  /// The chain is not one that signs receipts: Apple's root has other leaves.
  case notAReceiptSigner
  /// Step 4: of another app.
  case appMismatch
  /// Step 5: made too long ago.
  case tooOld
  /// Step 5: made in the future.
  case fromTheFuture
  /// Step 6: about another key.
  case publicKeyMismatch
  /// Field 6 is not what is expected here.
  case kindMismatch
  /// Field 7 is not the key's environment.
  case environmentMismatch
  /// Field 4 of a first receipt is not the client data hash of its attestation.
  case clientDataHashMismatch
}

extension ReceiptError: CustomStringConvertible {
  /// One line for a log or a person.
  package var description: String {
    switch self {
    case .tooLarge: "more than \(ReceiptVerifier.maximumLength) octets"
    case .encoding: "no CMS SignedData by one signer whose certificate is in it"
    case .signedAttributes:
      "signed over attributes, as receipts of August to early October 2020 are, which do not verify"
    case .badSignature: "the signature does not hold over the content"
    case .content: "a field is missing, stands twice or has another form"
    case .chain(let error): "the signer's chain did not hold when the receipt was made: \(error)"
    case .notAReceiptSigner: "the signer's certificates are not marked for signing receipts"
    case .appMismatch: "made for another app"
    case .tooOld: "made too long ago"
    case .fromTheFuture: "made in the future"
    case .publicKeyMismatch: "about another key"
    case .kindMismatch: "not of the expected type (ATTEST or RECEIPT)"
    case .environmentMismatch: "of another environment than the key"
    case .clientDataHashMismatch: "its client data hash is not the attestation's"
    }
  }
}
