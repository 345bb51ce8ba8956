import Cryptography

/// The checks of a receipt in the order in which they are made.
package enum ReceiptCheck: String, Sendable, CaseIterable {
  /// Size, SignedData, one signer.
  case encoding
  /// Step 1.
  case signature
  /// Step 3; before step 2, which needs the time that stands in the content.
  case content
  /// Step 2, at the time of creation.
  case chain
  /// The marks of a receipt signer.
  case signerMarks
  /// Step 4.
  case app
  /// Step 5.
  case age
  /// Step 6.
  case publicKey
  /// Field 6.
  case kind
  /// Field 7.
  case environment
  /// Field 4.
  case clientDataHash
}

/// A receipt taken apart, with a verdict for each check by itself.
struct ReceiptEvaluation {
  /// What it is compared with; nil is not judged.
  struct Expectation {
    var appID: String?
    /// The X9.63 point of the attested key.
    var publicKey: [UInt8]?
    var environment: AttestEnvironment?
    var kind: Receipt.Kind?
    var clientDataHash: [UInt8]?
    var anchors: [TrustAnchor]
    /// Seconds since 1970.
    var now: Int64
    /// Seconds.
    var maximumAge: Int64?
  }

  /// How far the clocks of Apple and this machine may differ, seconds.
  static let clockSkew: Int64 = 60
  /// Marks a certificate as a signer of receipts.
  static let signerMark = "1.2.840.113635.100.12.15"
  /// Marks the authority above it.
  static let authorityMark = "1.2.840.113635.100.6.2.3"

  let message: Result<SignedData, ReceiptError>
  let receipt: Result<Receipt, ReceiptError>
  /// From the signer to the anchor, at the time of creation: a stored receipt outlives its signer, who
  /// changes yearly.
  let chain: Result<[Certificate], ReceiptError>
  let expectation: Expectation

  init(_ bytes: [UInt8], _ expectation: Expectation) {
    self.expectation = expectation
    let message = Result { () throws(ReceiptError) in try Self.message(bytes) }
    let receipt = Result { () throws(ReceiptError) in try Receipt(content: message.get().content) }
    self.message = message
    self.receipt = receipt
    chain = Result { () throws(ReceiptError) in
      try Self.chain(of: message.get(), at: receipt.get().creation, to: expectation.anchors)
    }
  }

  private static func message(_ bytes: [UInt8]) throws(ReceiptError) -> SignedData {
    guard bytes.count <= ReceiptVerifier.maximumLength else { throw .tooLarge }
    do throws(SignedDataError) { return try SignedData(bytes) } catch { throw .encoding }
  }

  private static func chain(
    of message: SignedData, at creation: Int64, to anchors: [TrustAnchor]
  ) throws(ReceiptError) -> [Certificate] {
    do throws(CertificateError) {
      return try message.signer.chain(
        through: message.certificates, to: anchors.map(\.certificate), at: creation)
    } catch {
      throw .chain(error)
    }
  }

  /// The verdict of one check, whatever the others say. A part that cannot be read is told by the check that
  /// reads it, once; what needs the part is skipped.
  func outcome(of check: ReceiptCheck) -> CheckOutcome<ReceiptError> {
    do throws(ReceiptError) {
      return try judge(check)
    } catch {
      guard let reading = error.readingCheck, reading != check else { return .failed(error) }
      return .skipped("needs \(reading.rawValue)")
    }
  }

  private func judge(_ check: ReceiptCheck) throws(ReceiptError) -> CheckOutcome<ReceiptError> {
    switch check {
    case .encoding: _ = try message.get()
    case .signature: try verifySignature()
    case .content: _ = try receipt.get()
    case .chain: _ = try chain.get()
    case .signerMarks: try verifyMarks()
    case .app:
      let appID = try receipt.get().appID
      guard let expected = expectation.appID else { return .skipped("no app given") }
      guard appID == expected else { throw .appMismatch }
    case .age:
      let (difference, overflow) = expectation.now.subtractingReportingOverflow(try receipt.get().creation)
      let age = overflow ? (expectation.now < 0 ? .min : .max) : difference
      guard age >= -Self.clockSkew else { throw .fromTheFuture }
      guard let maximumAge = expectation.maximumAge else { return .skipped("no greatest age given") }
      guard age <= maximumAge else { throw .tooOld }
    case .publicKey:
      let publicKey = try receipt.get().publicKey
      guard let expected = expectation.publicKey else { return .skipped("no public key given") }
      guard publicKey == expected else { throw .publicKeyMismatch }
    case .kind:
      let kind = try receipt.get().kind
      guard let expected = expectation.kind else { return .skipped("no type given") }
      guard kind == expected else { throw .kindMismatch }
    case .environment:
      let environment = try receipt.get().environment
      guard let expected = expectation.environment else { return .skipped("no environment given") }
      guard environment == expected else { throw .environmentMismatch }
    case .clientDataHash:
      let receipt = try receipt.get()
      guard receipt.kind == .attest else { return .skipped("mangled in receipts from the endpoint") }
      guard let expected = expectation.clientDataHash else { return .skipped("no client data hash given") }
      guard receipt.clientDataHash == expected else { throw .clientDataHashMismatch }
    }
    return .passed
  }

  private func verifySignature() throws(ReceiptError) {
    let message = try message.get()
    do throws(SignedDataError) {
      try message.verify()
    } catch {
      throw error == .signedAttributes ? .signedAttributes : .badSignature
    }
  }

  /// The marks must stand in the proven chain, where no stranger can put them.
  private func verifyMarks() throws(ReceiptError) {
    let chain = try chain.get()
    guard chain.count >= 2, chain[0].value(ofExtension: Self.signerMark) != nil,
      chain[1].value(ofExtension: Self.authorityMark) != nil
    else { throw .notAReceiptSigner }
  }
}

extension ReceiptError {
  /// The check that reads the part which this error is about; nil for errors that are about no reading.
  fileprivate var readingCheck: ReceiptCheck? {
    switch self {
    case .tooLarge, .encoding: .encoding
    case .content: .content
    case .chain: .chain
    default: nil
    }
  }
}
