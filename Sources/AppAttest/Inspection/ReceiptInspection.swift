import Cryptography
import Encodings

extension Inspection {
  /// Every check of a receipt; what is not given is not compared.
  ///
  /// - Parameters:
  ///   - bytes: the receipt, CMS SignedData.
  ///   - appID: App ID prefix, a dot and the bundle id.
  ///   - publicKey: the attested key's X9.63 point.
  ///   - environment: the key's.
  ///   - kind: where it comes from.
  ///   - clientDataHash: of the attestation that brought it; not compared in receipts from the endpoint.
  ///   - now: seconds since 1970.
  ///   - maximumAge: seconds; nil does not judge the age.
  package static func receipt(
    _ bytes: [UInt8], appID: String? = nil, publicKey: [UInt8]? = nil, environment: AttestEnvironment? = nil,
    kind: Receipt.Kind? = nil, clientDataHash: [UInt8]? = nil,
    anchors: [TrustAnchor] = TrustAnchors.apple.receipt, now: Int64, maximumAge: Int64? = nil
  ) -> Inspection {
    let evaluation = ReceiptEvaluation(
      bytes,
      ReceiptEvaluation.Expectation(
        appID: appID, publicKey: publicKey, environment: environment, kind: kind,
        clientDataHash: clientDataHash, anchors: anchors, now: now, maximumAge: maximumAge))
    let verdicts = ReceiptCheck.allCases.map { check in
      Verdict(
        check.rawValue, check.question, evaluation.outcome(of: check), found: evaluation.finding(check))
    }
    return Inspection(verdicts, evaluation.said)
  }
}

extension ReceiptEvaluation {
  fileprivate var said: [(String, String?)] {
    let receipt = try? receipt.get()
    let message = try? message.get()
    return [
      ("app id", receipt?.appID),
      ("type", receipt?.kind.rawValue),
      ("environment", receipt?.environment?.rawValue),
      ("key id", (receipt?.publicKey).map { Base64.encode(SHA256.hash($0)) }),
      ("public key", (receipt?.publicKey).map { Base64.encode($0) }),
      ("client data hash", (receipt?.clientDataHash).map { Base64.encode($0) }),
      ("created", (receipt?.creation).map { CivilTime(secondsSince1970: $0).rfc3339 }),
      ("risk metric", (receipt?.riskMetric).map { String($0) }),
      ("not before", (receipt?.notBefore).map { CivilTime(secondsSince1970: $0).rfc3339 }),
      ("expires", (receipt?.expiration).map { CivilTime(secondsSince1970: $0).rfc3339 }),
      ("signer", message?.signer.subject),
      ("signer not before", (message?.signer.notBefore).map { CivilTime(secondsSince1970: $0).rfc3339 }),
      ("signer not after", (message?.signer.notAfter).map { CivilTime(secondsSince1970: $0).rfc3339 }),
    ]
  }

  fileprivate func finding(_ check: ReceiptCheck) -> String {
    switch check {
    case .chain: "ends in " + ((try? chain.get())?.last.map { $0.subject } ?? "")
    case .app: (try? receipt.get())?.appID ?? ""
    case .kind: (try? receipt.get())?.kind.rawValue ?? ""
    case .environment: (try? receipt.get())?.environment?.rawValue ?? ""
    case .encoding, .signature, .content, .signerMarks, .age, .publicKey, .clientDataHash: ""
    }
  }
}

extension ReceiptCheck {
  fileprivate var question: String {
    switch self {
    case .encoding: "the receipt is SignedData by one signer"
    case .signature: "the signer signed the content"
    case .content: "the content has its fields"
    case .chain: "the signer's certificates led to a trust anchor when the receipt was made"
    case .signerMarks: "the signer is marked for signing receipts"
    case .app: "it is for the app"
    case .age: "it was made recently"
    case .publicKey: "it is about the key"
    case .kind: "it is of the expected type"
    case .environment: "it is of the key's environment"
    case .clientDataHash: "its client data hash is the attestation's"
    }
  }
}
