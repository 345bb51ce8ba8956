import AppAttest
import BramleyTesting
import Cryptography
import Encodings
import Testing

/// An attestation that a real device made, as its file describes it.
struct RealAttestation: Sendable, CustomTestStringConvertible {
  let name: String
  let bytes: [UInt8]
  let appID: String
  let environment: AttestEnvironment
  let clientDataHash: [UInt8]
  let keyID: [UInt8]
  let publicKey: [UInt8]
  /// Seconds since 1970.
  let time: Int64
  let json: JSONNode

  var testDescription: String { name }

  static let all: [RealAttestation] = Fixtures.documents(in: "appattest/attestations").map { fixture in
    guard let bytes = fixture.base64("attestation_b64"), let appID = fixture.string("appId"),
      let environment = fixture.string("environment").flatMap({ AttestEnvironment(rawValue: $0) }),
      let hash = fixture.base64("clientDataHash_b64"), let keyID = fixture.base64("keyId_b64"),
      let publicKey = fixture.base64("publicKeyX963_b64"),
      let time = fixture.string("verifyAt").flatMap({ RFC3339.seconds($0) })
    else { fatalError("\(fixture.name) lacks a member") }
    return RealAttestation(
      name: fixture.name, bytes: bytes, appID: appID, environment: environment, clientDataHash: hash,
      keyID: keyID, publicKey: publicKey, time: time, json: fixture.json)
  }

  /// One of each shape: the first betas, iOS 26 with its new extensions, iOS 27 with its map.
  static let shapes = all.filter { attestation in
    ["2020-08-16", "2026-02-26", "2026-10-09"].contains { attestation.name.hasPrefix($0) }
  }

  var app: AcceptedApp { AcceptedApp(id: appID, environments: [environment]) }

  func verify(_ changed: [UInt8]? = nil) throws(AttestationError) -> VerifiedAttestation {
    try AttestationVerifier(apps: [app]).verify(
      changed ?? bytes, clientDataHash: clientDataHash, keyID: keyID, now: time)
  }

  /// Where the octets of `part` stand in the object.
  func range(of part: some Collection<UInt8>) -> Range<Int> {
    let part = Array(part)
    for start in 0...bytes.count - part.count where bytes[start] == part.first {
      if Array(bytes[start..<start + part.count]) == part { return start..<start + part.count }
    }
    fatalError("not a part of the attestation")
  }

  func flipping(_ place: Int, bit: Int = 0) -> [UInt8] {
    var changed = bytes
    changed[place] ^= 1 << UInt8(bit % 8)
    return changed
  }
}

/// An assertion that a real device made.
struct RealAssertion: Sendable, CustomTestStringConvertible {
  let name: String
  let bytes: [UInt8]
  let app: AcceptedApp
  let clientDataHash: [UInt8]
  let publicKey: [UInt8]
  let json: JSONNode

  var testDescription: String { name }

  static let all: [RealAssertion] = Fixtures.documents(in: "appattest/assertions").map { fixture in
    guard let bytes = fixture.base64("assertion_b64"), let appID = fixture.string("appId"),
      let clientData = fixture.base64("clientData_b64"),
      let publicKey = fixture.base64("publicKeyX963_b64")
    else { fatalError("\(fixture.name) lacks a member") }
    return RealAssertion(
      name: fixture.name, bytes: bytes, app: AcceptedApp(id: appID, environments: []),
      clientDataHash: SHA256.hash(clientData), publicKey: publicKey, json: fixture.json)
  }

  func verify(_ changed: [UInt8]? = nil, hash: [UInt8]? = nil, app: AcceptedApp? = nil) throws
    -> VerifiedAssertion
  {
    try Assertion.verify(
      changed ?? bytes, clientDataHash: hash ?? clientDataHash, key: P256.PublicKey(point: publicKey),
      app: app ?? self.app)
  }
}

/// A receipt that Apple made, out of an attestation or refreshed.
struct RealReceipt: Sendable, CustomTestStringConvertible {
  let name: String
  let bytes: [UInt8]
  let kind: Receipt.Kind
  let key: DeviceKey
  let clientDataHash: [UInt8]?
  /// Its own description.
  let fields: JSONNode

  var testDescription: String { "\(kind.rawValue) \(name)" }
  var creation: Int64 { fields["creationTime"]?.string.flatMap { RFC3339.seconds($0) } ?? 0 }
  var hasSignedAttributes: Bool { fields["signedAttrsPresent"]?.bool == true }
  var isDamaged: Bool { fields["verified"]?.bool == false }

  static let all: [RealReceipt] = embedded + refreshed
  static let valid = all.filter { !$0.hasSignedAttributes && !$0.isDamaged }

  private static let embedded: [RealReceipt] = RealAttestation.all.map { attestation in
    guard let object = try? AttestationObject(attestation.bytes), let fields = attestation.json["receipt"]
    else { fatalError("\(attestation.name) has no receipt") }
    let key = DeviceKey(
      keyID: attestation.keyID, publicKey: attestation.publicKey, appID: attestation.appID,
      environment: attestation.environment, anchor: [], registeredAt: attestation.time)
    return RealReceipt(
      name: attestation.name, bytes: object.receipt, kind: .attest, key: key,
      clientDataHash: attestation.clientDataHash, fields: fields)
  }

  /// Their files name the key id alone; the key stands in the receipt, and must have that hash.
  private static let refreshed: [RealReceipt] = Fixtures.documents(in: "appattest/receipts").map { fixture in
    guard let bytes = fixture.base64("receipt_b64"), let keyID = fixture.base64("keyId_b64"),
      let fields = fixture.json["fields"], let appID = fields["appId"]?.string,
      let content = try? Receipt(content: SignedData(bytes).content),
      SHA256.hash(content.publicKey) == keyID
    else { fatalError("\(fixture.name) lacks a member") }
    let key = DeviceKey(
      keyID: keyID, publicKey: content.publicKey, appID: appID,
      environment: fields["environment"]?.string == "sandbox" ? .development : .production, anchor: [],
      registeredAt: 0)
    return RealReceipt(
      name: fixture.name, bytes: bytes, kind: .receipt, key: key, clientDataHash: nil, fields: fields)
  }

  func verify(
    _ changed: [UInt8]? = nil, key: DeviceKey? = nil, kind: Receipt.Kind? = nil, hash: [UInt8]? = nil,
    now: Int64? = nil, maximumAge: Int64? = ReceiptVerifier.maximumAge
  ) throws(ReceiptError) -> Receipt {
    try ReceiptVerifier().verify(
      changed ?? bytes, kind: kind ?? self.kind, key: key ?? self.key, clientDataHash: hash ?? clientDataHash,
      now: now ?? creation, maximumAge: maximumAge)
  }
}
