import Cryptography
import Encodings
package import HTTPMessages

/// The exchange of a receipt for a newer one with a risk metric, as values: whoever sends them does the rest.
package struct ReceiptExchange: Sendable {
  /// The most octets of an answer that are read: a receipt of 64 KiB in base64, with line ends.
  package static let maximumLength = 98_304

  package let services: AppleServices
  private let verifier: ReceiptVerifier

  package init(services: AppleServices = .apple, verifier: ReceiptVerifier) {
    self.services = services
    self.verifier = verifier
  }

  /// `POST /v1/attestationData` at the host of the key's environment. The body is the receipt in base64 and nothing
  /// else, the token stands bare: Apple answers 400 to raw octets and to JSON.
  package func request(_ stored: StoredReceipt, token: AppleServiceToken) -> HTTPRequest {
    services.receipts(stored.key.environment).post(
      "/v1/attestationData", HTTPBody(Base64.encode(stored.receipt)), authorization: token.value,
      type: "text/plain")
  }

  /// The new receipt in an answer, which is verified like any other, must be about the same key, and newer.
  ///
  /// - Parameter now: seconds since 1970.
  package func judge(
    _ stored: StoredReceipt, status: Int, fields: HTTPFields, body: [UInt8], now: Int64
  ) throws(ReceiptRefusal) -> FreshReceipt {
    guard status == 200 else { throw ReceiptRefusal(status: status, fields: fields, body: body) }
    let text = body.filter { $0 != 0x20 && !(0x09...0x0D).contains($0) }
    guard !text.isEmpty, let bytes = Base64.decode(text) else {
      throw .retryable(status: status, retryAfter: nil)
    }
    let receipt: Receipt
    do throws(ReceiptError) {
      receipt = try verifier.verify(
        bytes, kind: .receipt, key: stored.key, clientDataHash: nil, now: now)
    } catch {
      throw .invalid(error)
    }
    if let old = stored.content {
      // The exchange may happen in the second of the attestation.
      let isNewer =
        receipt.creation > old.creation || (old.kind == .attest && receipt.creation == old.creation)
      guard isNewer else { throw .notNewer }
    }
    return FreshReceipt(bytes: bytes, receipt: receipt)
  }
}

/// A receipt that an exchange brought, verified.
package struct FreshReceipt: Sendable, Equatable {
  package let bytes: [UInt8]
  package let receipt: Receipt
}

extension StoredReceipt {
  /// What it says; it was verified when it came. nil where it cannot be read any more.
  package var content: Receipt? {
    (try? SignedData(receipt)).flatMap { try? Receipt(content: $0.content) }
  }
}
