import Cryptography
import Encodings

/// The checks of an assertion. Whether its counter is new can only be said where the last ones are stored.
package enum AssertionCheck: String, Sendable, CaseIterable {
  /// Size, CBOR, members.
  case encoding
  /// The authenticator data can be read.
  case authenticatorData
  /// The signature over nonce and client data.
  case signature
  /// The hash of the app id.
  case app
  /// Above 0: no assertion of a device has 0.
  case counter
}

extension Inspection {
  /// Every check of an assertion; what is not given is not compared.
  ///
  /// - Parameters:
  ///   - bytes: the assertion.
  ///   - appID: App ID prefix, a dot and the bundle id.
  ///   - clientDataHash: SHA-256 of the client data.
  ///   - publicKey: the registered key's X9.63 point.
  package static func assertion(
    _ bytes: [UInt8], appID: String? = nil, clientDataHash: [UInt8]? = nil, publicKey: [UInt8]? = nil
  ) -> Inspection {
    let assertion = Result { () throws(AssertionError) in try Assertion(bytes) }
    let verdicts = AssertionCheck.allCases.map { check in
      Verdict(
        check.rawValue, check.question,
        check.outcome(assertion, appID: appID, clientDataHash: clientDataHash, publicKey: publicKey),
        found: "")
    }
    let data = (try? assertion.get())?.authenticatorData
    return Inspection(
      verdicts,
      [
        ("relying party hash", (data?.rpIDHash).map { Hex.encode($0) }),
        ("flags", (data?.flags).map { "0x" + Hex.encode([$0]) }),
        ("counter", (data?.counter).map { String($0) }),
        ("bundle version", data?.extensions?.bundleVersion),
        ("validation category", (data?.extensions?.validationCategory).map { String($0) }),
        ("code directory hash", (data?.extensions?.codeDirectoryHash).map { Hex.encode($0) }),
        ("signature", (try? assertion.get()).map { Hex.encode($0.signature) }),
      ])
  }
}

/// Why a check of an assertion fails, for people.
private struct AssertionFinding: Error, Equatable, CustomStringConvertible {
  let description: String
}

extension AssertionCheck {
  fileprivate var question: String {
    switch self {
    case .encoding: "the assertion is strict CBOR with its two members"
    case .authenticatorData: "the authenticator data can be read"
    case .signature: "the key signed SHA-256 of authenticator data and client data hash"
    case .app: "the authenticator data is for the app"
    case .counter: "the counter is above 0"
    }
  }

  fileprivate func outcome(
    _ assertion: Result<Assertion, AssertionError>, appID: String?, clientDataHash: [UInt8]?,
    publicKey: [UInt8]?
  ) -> CheckOutcome<AssertionFinding> {
    let read: Assertion
    switch assertion {
    case .success(let assertion): read = assertion
    case .failure(.authenticatorData(let error)):
      return unread(.authenticatorData(error), at: .authenticatorData)
    case .failure(let error): return unread(error, at: .encoding)
    }
    switch self {
    case .encoding, .authenticatorData: return .passed
    case .signature:
      guard let clientDataHash else { return .skipped("no client data hash given") }
      guard let publicKey else { return .skipped("no public key given") }
      guard let key = try? P256.PublicKey(point: publicKey) else {
        return .failed(AssertionFinding(description: "the public key given is no point of P-256"))
      }
      return verdict(read.isSigned(by: key, clientDataHash: clientDataHash), .badSignature)
    case .app:
      guard let appID else { return .skipped("no app given") }
      return verdict(read.authenticatorData.rpIDHash == SHA256.hash(appID), .appMismatch)
    case .counter:
      return read.authenticatorData.counter > 0
        ? .passed : .failed(AssertionFinding(description: "the counter is 0"))
    }
  }

  private func verdict(_ holds: Bool, _ error: AssertionError) -> CheckOutcome<AssertionFinding> {
    holds ? .passed : .failed(AssertionFinding(description: error.description))
  }

  /// The verdict when the check `place` could not read the assertion.
  private func unread(_ error: AssertionError, at place: AssertionCheck) -> CheckOutcome<AssertionFinding> {
    if self == place { return .failed(AssertionFinding(description: error.description)) }
    if self == .encoding { return .passed }
    return .skipped("needs \(place.rawValue)")
  }
}
