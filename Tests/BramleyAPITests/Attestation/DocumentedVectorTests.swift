import BramleyAPI
import Cryptography
import Encodings
import Foundation
import Testing

@Suite("The vectors of docs/attestation.md")
struct DocumentedVectorTests {
  private static let document = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appending(path: "docs/attestation.md")

  @Test("RULES §1.1: the documented vectors are what the code signs")
  func vectors() throws {
    let text = try String(contentsOf: Self.document, encoding: .utf8)
    let block = try #require(text.components(separatedBy: "```json\n").dropFirst().first)
    let json = try #require(block.components(separatedBy: "\n```").first)
    let vectors = try #require(try JSONReader.read(Array(json.utf8)).elements)
    #expect(Set(vectors.map { $0["kind"]?.string }) == ["registration", "request", "token"])
    for vector in vectors {
      let name = try #require(vector["name"]?.string)
      let signed = try signedBytes(of: vector)
      #expect(String(decoding: signed, as: UTF8.self) == vector["signed"]?.string, "\(name)")
      #expect(Hex.encode(SHA256.hash(signed)) == vector["sha256"]?.string, "\(name)")
    }
  }

  private func signedBytes(of vector: JSONNode) throws -> [UInt8] {
    let audience = try #require(vector["audience"]?.string)
    let challenge = try #require(vector["challenge"]?.string.flatMap(Base64.decode))
    if vector["kind"]?.string == "registration" {
      return SignedBytes.registration(audience: audience, challenge: challenge)
    }
    let method = try #require(vector["method"]?.string)
    let target = try #require(vector["target"]?.string)
    let authorization = SHA256.hash(try #require(vector["authorization"]?.string))
    let body = SHA256.hash(try #require(vector["body"]?.string))
    if vector["kind"]?.string == "token" {
      return SignedBytes.tokenExchange(
        audience: audience, challenge: challenge, method: method, target: target,
        authorizationHash: authorization, bodyHash: body)
    }
    return SignedBytes.request(
      audience: audience, challenge: challenge, method: method, target: target,
      authorizationHash: authorization, bodyHash: body)
  }
}
