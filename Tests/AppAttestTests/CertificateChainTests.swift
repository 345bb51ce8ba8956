import AppAttest
import Cryptography
import Testing

@testable import AppleSimulator

/// Certificates that Apple may make tomorrow, and some that nobody may.
@Suite("Certificate chains")
struct CertificateChainTests {
  private static let now: Int64 = 1_790_000_000
  private let rootKey: P384.PrivateKey
  private let root: Certificate
  private let rootName = CertificateDraft.Name(commonName: "Root")

  init() throws {
    rootKey = try P384.PrivateKey()
    let draft = Self.draft(
      rootName, by: rootName, .p384(rootKey.point), CertificateDraft.authority(pathLength: nil))
    root = try Certificate(der: draft.signed { [rootKey] in try rootKey.signature(for: $0) })
  }

  private static func draft(
    _ subject: CertificateDraft.Name, by issuer: CertificateDraft.Name, _ key: CertificateDraft.Key,
    _ extensions: [[UInt8]]
  ) -> CertificateDraft {
    CertificateDraft(
      issuer: issuer, subject: subject, notBefore: now - 10, notAfter: now + 10, key: key,
      extensions: extensions)
  }

  private func leaf(_ extensions: [[UInt8]]) throws -> Certificate {
    let draft = Self.draft(
      .init(commonName: "Leaf"), by: rootName, .p256(try P256.PrivateKey().point),
      CertificateDraft.leaf(usage: 0x80, unused: 7) + extensions)
    return try Certificate(der: draft.signed { try rootKey.signature(for: $0) })
  }

  private let unknown = DERWriter.objectIdentifier([1, 2, 840, 113_635, 100, 99, 1])

  @Test("an unknown extension is accepted unless it is critical")
  func unknownExtensions() throws {
    let plain = try leaf([CertificateDraft.extension(unknown, DERWriter.null)])
    #expect(try plain.chain(through: [], to: [root], at: Self.now) == [plain, root])
    let critical = try leaf([CertificateDraft.extension(unknown, critical: true, DERWriter.null)])
    #expect(throws: CertificateError.invalid(code: 34)) {
      try critical.chain(through: [], to: [root], at: Self.now)
    }
  }

  @Test("any extended key usage is accepted")
  func extendedKeyUsage() throws {
    for usage in [unknown, DERWriter.objectIdentifier([1, 3, 6, 1, 5, 5, 7, 3, 8])] {
      let leaf = try leaf([
        CertificateDraft.extension(ObjectIdentifiers.extendedKeyUsage, DERWriter.sequence(usage))
      ])
      #expect(try leaf.chain(through: [], to: [root], at: Self.now).count == 2)
    }
  }

  @Test("an extension that stands twice is refused")
  func duplicates() throws {
    let twice = CertificateDraft.extension(unknown, DERWriter.null)
    #expect(throws: CertificateError.malformed) { try leaf([twice, twice]) }
  }

  @Test("a leaf signs for nobody")
  func leafAsAuthority() throws {
    let key = try P384.PrivateKey()
    let middle = Self.draft(
      .init(commonName: "Leaf"), by: rootName, .p384(key.point), CertificateDraft.leaf(usage: 0x80, unused: 7)
    )
    let middleCertificate = try Certificate(der: middle.signed { try rootKey.signature(for: $0) })
    let forged = Self.draft(
      .init(commonName: "Forged"), by: .init(commonName: "Leaf"), .p256(try P256.PrivateKey().point),
      CertificateDraft.leaf(usage: 0x80, unused: 7))
    let forgedCertificate = try Certificate(der: forged.signed { try key.signature(for: $0) })
    #expect(throws: CertificateError.self) {
      try forgedCertificate.chain(through: [middleCertificate], to: [root], at: Self.now)
    }
  }

  @Test("validity is judged to the second")
  func validity() throws {
    let leaf = try leaf([])
    #expect(leaf.notBefore == Self.now - 10)
    #expect(leaf.notAfter == Self.now + 10)
    for (time, error) in [(-11, CertificateError.notYetValid), (11, .expired)] as [(Int64, CertificateError)]
    {
      #expect(throws: error) { try leaf.chain(through: [], to: [root], at: Self.now + time) }
    }
    #expect(throws: Never.self) { try leaf.chain(through: [], to: [root], at: Self.now - 9) }
    #expect(throws: Never.self) { try leaf.chain(through: [], to: [root], at: Self.now + 9) }
  }
}
