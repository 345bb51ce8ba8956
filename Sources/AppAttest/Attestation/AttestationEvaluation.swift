import Cryptography
import Encodings

/// An attestation taken apart, with a verdict for each check by itself: `AttestationVerifier` stops at the
/// first failure, `inspect` shows them all.
struct AttestationEvaluation {
  /// What it is compared with; nil is not judged.
  struct Expectation {
    var apps: [AcceptedApp]?
    var clientDataHash: [UInt8]?
    var keyID: [UInt8]?
    var anchors: [TrustAnchor]
    /// Seconds since 1970.
    var now: Int64
  }

  let object: Result<AttestationObject, AttestationError>
  /// Leaf and intermediate.
  let certificates: Result<[Certificate], AttestationError>
  /// From the leaf to the anchor, now.
  let chain: Result<[Certificate], AttestationError>
  let data: Result<AuthenticatorData, AttestationError>
  let leafExtensions: LeafExtensions?
  /// The leaf's point.
  let publicKey: [UInt8]?
  let expectation: Expectation

  init(_ attestation: [UInt8], _ expectation: Expectation) {
    self.expectation = expectation
    let object = Result { () throws(AttestationError) in try AttestationObject(attestation) }
    let certificates = Result { () throws(AttestationError) in try Self.certificates(object.get()) }
    self.object = object
    self.certificates = certificates
    data = Result { () throws(AttestationError) in try Self.authenticatorData(object.get()) }
    chain = Result { () throws(AttestationError) in try Self.chain(of: certificates.get(), expectation) }
    let leaf = try? certificates.get().first
    leafExtensions = leaf.map { LeafExtensions($0) }
    publicKey = leaf?.publicKeyPoint
  }

  private static func certificates(_ object: AttestationObject) throws(AttestationError) -> [Certificate] {
    var certificates: [Certificate] = []
    for der in object.certificates {
      do throws(CertificateError) { certificates.append(try Certificate(der: der)) } catch {
        throw .certificate
      }
    }
    guard certificates.first?.publicKeyPoint?.count == 65 else { throw .certificate }
    return certificates
  }

  private static func authenticatorData(
    _ object: AttestationObject
  ) throws(AttestationError) -> AuthenticatorData {
    do throws(AuthenticatorDataError) {
      return try AuthenticatorData.attestation(object.authenticatorData)
    } catch {
      throw .authenticatorData(error)
    }
  }

  private static func chain(
    of certificates: [Certificate], _ expectation: Expectation
  ) throws(AttestationError) -> [Certificate] {
    guard let leaf = certificates.first else { throw .certificateCount }
    do throws(CertificateError) {
      return try leaf.chain(
        through: Array(certificates.dropFirst()), to: expectation.anchors.map(\.certificate),
        at: expectation.now)
    } catch {
      throw .chain(error)
    }
  }

  /// The app of the list that the authenticator data is for.
  var app: AcceptedApp? {
    guard let data = try? data.get() else { return nil }
    return expectation.apps?.first { $0.rpIDHash == data.rpIDHash }
  }

  /// SHA256(authData ‖ clientDataHash).
  func nonce(clientDataHash: [UInt8]) throws(AttestationError) -> [UInt8] {
    SHA256.hash(Array(try object.get().authenticatorData) + clientDataHash)
  }

  /// The verdict of one check, whatever the others say. A part that cannot be read is told by the check that
  /// reads it, once; what needs the part is skipped.
  func outcome(of check: AttestationCheck) -> CheckOutcome<AttestationError> {
    do throws(AttestationError) {
      return try judge(check)
    } catch {
      guard let reading = error.readingCheck, reading != check else { return .failed(error) }
      return .skipped("needs \(reading.rawValue)")
    }
  }

  private func judge(_ check: AttestationCheck) throws(AttestationError) -> CheckOutcome<AttestationError> {
    switch check {
    case .encoding:
      _ = try object.get()
    case .certificates:
      _ = try certificates.get()
    case .chain:
      _ = try chain.get()
    case .nonce:
      _ = try certificates.get()
      guard let clientDataHash = expectation.clientDataHash else {
        return .skipped("no client data hash given")
      }
      guard try leafExtensions?.nonce == nonce(clientDataHash: clientDataHash) else { throw .nonceMismatch }
    case .accessControl:
      _ = try certificates.get()
      guard leafExtensions?.platform == "macosx" else { return .skipped("demanded on macOS alone") }
      guard let list = leafExtensions?.accessControlList, list == Self.macOSAccessControl else {
        throw .accessControlMismatch
      }
    case .keyID:
      _ = try certificates.get()
      guard let keyID = expectation.keyID else { return .skipped("no key id given") }
      guard keyID == publicKey.map({ SHA256.hash($0) }) else { throw .keyIDMismatch }
    case .authenticatorData:
      _ = try data.get()
    case .app:
      _ = try data.get()
      guard expectation.apps != nil else { return .skipped("no app given") }
      guard app != nil else { throw .appMismatch }
    case .counter:
      guard try data.get().counter == 0 else { throw .counterNotZero }
    case .environment:
      guard let environment = try data.get().attestedKey?.environment else { throw .environmentMismatch }
      guard expectation.apps != nil else { return .passed }
      guard let app else { return .skipped("needs a known app") }
      guard app.environments.contains(environment) else { throw .environmentMismatch }
    case .credentialID:
      _ = try certificates.get()
      guard try data.get().attestedKey?.credentialID == publicKey.map({ SHA256.hash($0) }) else {
        throw .credentialIDMismatch
      }
    case .publicKey:
      _ = try certificates.get()
      guard try data.get().attestedKey?.publicKey == publicKey else { throw .publicKeyMismatch }
    case .certificateApp:
      _ = try certificates.get()
      let rpIDHash = try data.get().rpIDHash
      guard let appID = leafExtensions?.appID else { return .skipped("the certificate names no app") }
      guard SHA256.hash(appID) == rpIDHash else { throw .certificateAppMismatch }
    case .extensionPolicy:
      let extensions = try data.get().extensions
      guard expectation.apps != nil else { return .skipped("no app given") }
      guard let app else { return .skipped("needs a known app") }
      guard app.extensionPolicy.accepts(extensions) else { throw .extensionPolicy }
    }
    return .passed
  }

  /// The access control list that Apple's page demands of a key on macOS, there in base64.
  private static let macOSAccessControl = Base64.decode(
    "MEAMAjExMDowCQwCb2uhAwEB/zAJDAJvYaEDAQH/MAsMBG9kZWyhAwEB/zAVDARvc2duoAYMBHJzZWMwBaYDAgEB")
}

extension AttestationError {
  /// The check that reads the part which this error is about; nil for errors that are about no reading.
  fileprivate var readingCheck: AttestationCheck? {
    switch self {
    case .tooLarge, .encoding, .structure, .format, .certificateCount: .encoding
    case .certificate: .certificates
    case .authenticatorData: .authenticatorData
    default: nil
    }
  }
}
