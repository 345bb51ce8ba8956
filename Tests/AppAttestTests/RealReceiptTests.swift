import AppAttest
import BramleyTesting
import Cryptography
import Encodings
import Testing

@Suite("Receipts of Apple", Fixtures.required)
struct RealReceiptTests {
  @Test("each is judged as its file says", arguments: RealReceipt.all)
  func judged(_ real: RealReceipt) throws {
    if real.hasSignedAttributes {
      #expect(throws: ReceiptError.signedAttributes) { try real.verify() }
    } else if real.isDamaged {
      #expect(throws: ReceiptError.self) { try real.verify() }
    } else {
      let receipt = try real.verify()
      #expect(receipt.appID == real.fields["appId"]?.string)
      #expect(receipt.kind.rawValue == real.fields["type"]?.string)
      #expect(receipt.environment == real.key.environment)
      #expect(receipt.publicKey == real.key.publicKey)
      #expect(receipt.creation == real.creation)
      #expect(receipt.riskMetric == real.fields["riskMetric"]?.string.flatMap { Int($0) })
      #expect(receipt.notBefore == real.fields["notBefore"]?.string.flatMap { RFC3339.seconds($0) })
      #expect(receipt.expiration == real.fields["expirationTime"]?.string.flatMap { RFC3339.seconds($0) })
      #expect(receipt.clientDataHash == real.fields["clientHash_b64"]?.string.flatMap { Base64.decode($0) })
    }
  }

  @Test("of the stored ones as many are of each kind as were collected")
  func counts() {
    #expect(RealReceipt.all.contains { $0.kind == .receipt && !$0.hasSignedAttributes })
    #expect(RealReceipt.all.filter(\.isDamaged).count == 1)
    #expect(RealReceipt.valid.count >= 20)
  }

  @Test(
    "the real form: BER of indefinite length, content in pieces, certificates not sorted as DER sorts them")
  func form() throws {
    for real in RealReceipt.valid {
      #expect(Array(real.bytes.prefix(2)) == [0x30, 0x80])
      let message = try SignedData(real.bytes)
      #expect(message.certificates.count == 3)
      #expect(message.certificates.first == message.signer)
    }
  }

  @Test(
    "the signer's chain is judged when the receipt was made, so that stored ones hold",
    arguments: RealReceipt.valid)
  func stored(_ real: RealReceipt) throws {
    let later = real.creation + 20 * 365 * 86_400
    #expect(try real.verify(now: later, maximumAge: nil).creation == real.creation)
    #expect(throws: ReceiptError.tooOld) { try real.verify(now: later) }
  }

  @Test("made at most 5 minutes ago, and not in the future", arguments: RealReceipt.valid)
  func age(_ real: RealReceipt) throws {
    #expect(throws: Never.self) { try real.verify(now: real.creation + 300) }
    #expect(throws: ReceiptError.tooOld) { try real.verify(now: real.creation + 301) }
    #expect(throws: Never.self) { try real.verify(now: real.creation + 3_600, maximumAge: 3_600) }
    #expect(throws: Never.self) { try real.verify(now: real.creation - 60) }
    #expect(throws: ReceiptError.fromTheFuture) { try real.verify(now: real.creation - 61) }
    #expect(throws: ReceiptError.fromTheFuture) { try real.verify(now: real.creation - 61, maximumAge: nil) }
    #expect(throws: ReceiptError.tooOld) { try real.verify(now: .max) }
    #expect(throws: ReceiptError.fromTheFuture) { try real.verify(now: .min) }
  }

  @Test("another app, key, environment, type or hash has its own error", arguments: RealReceipt.valid)
  func expectations(_ real: RealReceipt) throws {
    var key = real.key
    key.appID += "x"
    #expect(throws: ReceiptError.appMismatch) { try real.verify(key: key) }
    key = real.key
    key.publicKey[64] ^= 1
    #expect(throws: ReceiptError.publicKeyMismatch) { try real.verify(key: key) }
    key = real.key
    key.environment = real.key.environment == .development ? .production : .development
    #expect(throws: ReceiptError.environmentMismatch) { try real.verify(key: key) }
    #expect(throws: ReceiptError.kindMismatch) {
      try real.verify(kind: real.kind == .attest ? .receipt : .attest)
    }
    #expect(throws: ReceiptError.chain(.untrusted)) {
      try ReceiptVerifier(anchors: TrustAnchors.apple.attestation).verify(
        real.bytes, kind: real.kind, key: real.key, clientDataHash: nil, now: real.creation)
    }
    if real.kind == .attest {
      #expect(throws: ReceiptError.clientDataHashMismatch) { try real.verify(hash: [1]) }
    } else {
      // The field is mangled there, so it is not compared.
      #expect(throws: Never.self) { try real.verify(hash: [1]) }
    }
  }

  @Test(
    "any changed octet of content or signature is refused",
    arguments: RealReceipt.valid.prefix(3) + RealReceipt.valid.suffix(2))
  func octets(_ real: RealReceipt) throws {
    let receipt = try real.verify()
    for place in stride(from: 0, to: real.bytes.count, by: 37) {
      var changed = real.bytes
      changed[place] ^= 1 << UInt8(place % 8)
      // Lengths of BER and the unsigned frame leave some octets free; none may change what is believed.
      if let accepted = try? real.verify(changed) { #expect(accepted == receipt) }
    }
    let content = try SignedData(real.bytes).content
    let start = try #require(real.bytes.firstRange(of: content.prefix(200))?.lowerBound)
    for place in stride(from: start, to: start + 200, by: 5) {
      var changed = real.bytes
      changed[place] ^= 1 << UInt8(place % 8)
      #expect(throws: ReceiptError.self) { try real.verify(changed) }
    }
    // The signature is the last value before the six octets that end the indefinite lengths.
    for place in stride(from: real.bytes.count - 76, to: real.bytes.count - 6, by: 2) {
      var changed = real.bytes
      changed[place] ^= 1 << UInt8(place % 8)
      #expect(throws: ReceiptError.self) { try real.verify(changed) }
    }
  }

  @Test("cut anywhere, or with something behind it, it is refused", arguments: RealReceipt.valid)
  func cuts(_ real: RealReceipt) {
    for cut in stride(from: 0, to: real.bytes.count, by: 41) {
      #expect(throws: ReceiptError.encoding) { try real.verify(Array(real.bytes[..<cut])) }
    }
    #expect(throws: ReceiptError.encoding) { try real.verify(real.bytes + [0]) }
  }

  @Test("above 64 KiB nothing is read")
  func size() throws {
    let real = try #require(RealReceipt.valid.first)
    #expect(throws: ReceiptError.tooLarge) {
      try real.verify([UInt8](repeating: 0x30, count: ReceiptVerifier.maximumLength + 1))
    }
  }
}
