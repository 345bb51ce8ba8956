import BramleyTesting
import Cryptography
import Encodings
import Testing

@Suite("Certificates", Fixtures.required)
struct CertificateTests {
  private func certificate(_ name: String) throws -> Certificate {
    let text = try #require(Fixtures.text("appattest/certs/\(name).pem"))
    return try #require(try Certificate.all(pem: text).first)
  }

  @Test("Apple's root is read as it stands")
  func root() throws {
    let root = try certificate("Apple_App_Attestation_Root_CA")
    #expect(
      Hex.encode(root.fingerprint) == "1cb9823ba28ba6ad2d33a006941de2ae4f513ef1d4e831b9f7e0fa7b6242c932")
    #expect(root.notBefore == 1_584_556_373)
    #expect(root.publicKeyPoint?.count == 97)
    #expect(root.subject.contains("Apple App Attestation Root CA"))
    #expect(root.value(ofExtension: "2.5.29.19") != nil)
  }

  @Test("a chain holds within its time, to its anchor alone")
  func chain() throws {
    let root = try certificate("Apple_App_Attestation_Root_CA")
    let intermediate = try certificate("Apple_App_Attestation_CA_1")
    let other = try certificate("Apple_Root_CA_G3")
    let chain = try intermediate.chain(through: [], to: [other, root], at: 1_700_000_000)
    #expect(chain == [intermediate, root])
    #expect(throws: CertificateError.expired) {
      try intermediate.chain(through: [], to: [root], at: intermediate.notAfter + 1)
    }
    #expect(throws: CertificateError.notYetValid) {
      try intermediate.chain(through: [], to: [root], at: 1_000_000_000)
    }
    #expect(throws: CertificateError.untrusted) {
      try intermediate.chain(through: [root], to: [other], at: 1_700_000_000)
    }
    #expect(throws: CertificateError.untrusted) {
      try intermediate.chain(through: [root], to: [], at: 1_700_000_000)
    }
    // An intermediate is no anchor.
    #expect(throws: CertificateError.self) {
      try intermediate.chain(through: [], to: [intermediate], at: 1_700_000_000)
    }
  }

  @Test("cut anywhere it is malformed, and any changed octet breaks the chain")
  func damage() throws {
    let root = try certificate("Apple_App_Attestation_Root_CA")
    let intermediate = try certificate("Apple_App_Attestation_CA_1")
    for cut in 0..<intermediate.der.count {
      #expect(throws: CertificateError.malformed) { try Certificate(der: Array(intermediate.der[..<cut])) }
    }
    #expect(throws: CertificateError.malformed) { try Certificate(der: intermediate.der + [0]) }
    for place in 0..<intermediate.der.count {
      var changed = intermediate.der
      changed[place] ^= 1
      #expect(throws: CertificateError.self) {
        try Certificate(der: changed).chain(through: [], to: [root], at: 1_700_000_000)
      }
    }
  }

  @Test("PEM that does not end or holds no certificate is refused")
  func pem() throws {
    #expect(throws: CertificateError.malformed) { try Certificate.all(pem: "") }
    #expect(throws: CertificateError.malformed) {
      try Certificate.all(pem: "-----BEGIN CERTIFICATE-----\nAAAA")
    }
    let root = try certificate("Apple_App_Attestation_Root_CA")
    let text = PEM.encode(root.der, label: "CERTIFICATE")
    #expect(try Certificate.all(pem: "bag\r\n" + text + text) == [root, root])
  }
}
