/// Verifies receipts by Apple's page "Assessing fraud risk", first ones and refreshed ones.
package struct ReceiptVerifier: Sendable {
  /// Real ones have at most 6 KB.
  package static let maximumLength = 65_536
  /// Apple's greatest age of a receipt when it arrives, seconds.
  package static let maximumAge: Int64 = 300

  private let anchors: [TrustAnchor]

  package init(anchors: [TrustAnchor] = TrustAnchors.apple.receipt) { self.anchors = anchors }

  /// The content of a receipt that holds in every respect.
  ///
  /// - Parameters:
  ///   - bytes: CMS SignedData, at most 64 KiB.
  ///   - kind: `attest` for one out of an attestation, `receipt` for one from the endpoint.
  ///   - key: the key that it must be about.
  ///   - clientDataHash: of the attestation that brought it; nil for one from the endpoint, where the field
  ///     is mangled.
  ///   - now: seconds since 1970.
  ///   - maximumAge: seconds; nil for one that was judged when it arrived and is read again.
  package func verify(
    _ bytes: [UInt8], kind: Receipt.Kind, key: DeviceKey, clientDataHash: [UInt8]?, now: Int64,
    maximumAge: Int64? = ReceiptVerifier.maximumAge
  ) throws(ReceiptError) -> Receipt {
    let evaluation = ReceiptEvaluation(
      bytes,
      ReceiptEvaluation.Expectation(
        appID: key.appID, publicKey: key.publicKey, environment: key.environment, kind: kind,
        clientDataHash: clientDataHash, anchors: anchors, now: now, maximumAge: maximumAge))
    for check in ReceiptCheck.allCases {
      if case .failed(let error) = evaluation.outcome(of: check) { throw error }
    }
    return try evaluation.receipt.get()
  }
}
