import Cryptography
import Encodings

extension Inspection {
  /// Every check of an attestation; what is not given is not compared.
  ///
  /// - Parameters:
  ///   - bytes: the attestation object.
  ///   - appID: App ID prefix, a dot and the bundle id.
  ///   - environment: the only one that is accepted; nil accepts both.
  ///   - clientDataHash: what was passed to `attestKey`.
  ///   - keyID: the decoded key id.
  ///   - now: seconds since 1970.
  package static func attestation(
    _ bytes: [UInt8], appID: String? = nil, environment: AttestEnvironment? = nil,
    clientDataHash: [UInt8]? = nil, keyID: [UInt8]? = nil,
    anchors: [TrustAnchor] = TrustAnchors.apple.attestation, now: Int64
  ) -> Inspection {
    let environments = Set(environment.map { [$0] } ?? AttestEnvironment.allCases)
    let evaluation = AttestationEvaluation(
      bytes,
      AttestationEvaluation.Expectation(
        apps: appID.map { [AcceptedApp(id: $0, environments: environments)] },
        clientDataHash: clientDataHash, keyID: keyID, anchors: anchors, now: now))
    let verdicts = AttestationCheck.allCases.map { check in
      Verdict(
        check.rawValue, check.question, evaluation.outcome(of: check), found: evaluation.finding(check))
    }
    return Inspection(verdicts, evaluation.said)
  }
}

extension AttestationEvaluation {
  private var authenticatorData: AuthenticatorData? { try? data.get() }
  private var leaf: Certificate? { (try? certificates.get())?.first }

  /// What the attestation says.
  fileprivate var said: [(String, String?)] {
    let extensions = authenticatorData?.extensions
    return [
      ("app id", leafExtensions?.appID),
      ("environment", authenticatorData?.attestedKey?.environment?.rawValue),
      ("key id", (authenticatorData?.attestedKey?.credentialID).map { Base64.encode($0) }),
      ("public key", publicKey.map { Base64.encode($0) }),
      ("relying party hash", (authenticatorData?.rpIDHash).map { Hex.encode($0) }),
      ("flags", (authenticatorData?.flags).map { "0x" + Hex.encode([$0]) }),
      ("counter", (authenticatorData?.counter).map { String($0) }),
      ("platform", leafExtensions?.platform), ("os version", leafExtensions?.osVersion),
      ("os build", leafExtensions?.osBuild), ("bundle version", extensions?.bundleVersion),
      ("validation category", (extensions?.validationCategory).map { String($0) }),
      ("code directory hash", (extensions?.codeDirectoryHash).map { Hex.encode($0) }),
      ("certificate not before", (leaf?.notBefore).map { CivilTime(secondsSince1970: $0).rfc3339 }),
      ("certificate not after", (leaf?.notAfter).map { CivilTime(secondsSince1970: $0).rfc3339 }),
      ("nonce", (leafExtensions?.nonce).map { Hex.encode($0) }),
      ("receipt", (try? object.get()).map { "\($0.receipt.count) octets" }),
    ]
  }

  /// What a check that passed has found.
  fileprivate func finding(_ check: AttestationCheck) -> String {
    switch check {
    case .encoding: "apple-appattest"
    case .certificates: leaf.map { $0.subject } ?? ""
    case .chain: "ends in " + ((try? chain.get())?.last.map { $0.subject } ?? "")
    case .environment: authenticatorData?.attestedKey?.environment?.rawValue ?? ""
    case .app: app?.id ?? ""
    case .certificateApp: leafExtensions?.appID ?? ""
    case .authenticatorData:
      authenticatorData?.extensions == nil ? "without extensions" : "with extensions"
    case .nonce, .accessControl, .keyID, .counter, .credentialID, .publicKey, .extensionPolicy: ""
    }
  }
}

extension AttestationCheck {
  fileprivate var question: String {
    switch self {
    case .encoding: "the object is strict CBOR of the format apple-appattest"
    case .certificates: "both certificates can be read"
    case .chain: "the certificates lead to a trust anchor and hold at that time"
    case .nonce: "the certificate's nonce is SHA-256 of authenticator data and client data hash"
    case .accessControl: "on macOS, the key has the access control list that Apple demands"
    case .keyID: "the key id is SHA-256 of the certificate's public key"
    case .authenticatorData: "the authenticator data can be read"
    case .app: "the authenticator data is for the app"
    case .counter: "the counter is 0"
    case .environment: "the AAGUID names an accepted environment"
    case .credentialID: "the credential id is the key id"
    case .publicKey: "the credential's public key is the certificate's"
    case .certificateApp: "the certificate names the app of the authenticator data"
    case .extensionPolicy: "the build's category and version are accepted"
    }
  }
}
