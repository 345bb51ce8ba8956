import AppAttest
import BramleyAPI
import Cryptography
import Encodings
import HTTPMessages
import System

/// What the measured server and the load share: the same devices and the same challenge secret, so that every
/// request can be signed before the clock starts.
struct Workload: Sendable {
  static let audience = "https://bench.example"
  static let appID = "BENCH00000.example.bench"
  static let secret = ChallengeSecret(id: 1, secret: Array(repeating: 7, count: 32))
  static let body = Array(
    #"{"model":"claude-haiku-4-5","max_tokens":16,"messages":[{"role":"user","content":"hello"}]}"#.utf8)

  let keys: [P256.PrivateKey]

  init(devices: Int) throws {
    keys = try (0..<devices).map { try P256.PrivateKey(scalar: SHA256.hash("device \($0)")) }
  }

  /// The rows of the devices.
  func rows(now: Int64) throws -> [DeviceKey] {
    try keys.map { key in
      let point = try key.publicKey.point
      return DeviceKey(
        keyID: SHA256.hash(point), publicKey: point, appID: Self.appID, environment: .production,
        anchor: TrustAnchors.apple.attestation[0].fingerprint, registeredAt: now)
    }
  }

  /// Requests as they go over the wire, the devices in turn.
  func requests(_ count: Int, target: String, now: Int64) throws -> [[UInt8]] {
    let authority = ChallengeAuthority(secrets: [Self.secret])
    let points = try keys.map { try $0.publicKey.point }
    let names = points.map { Base64.encode(SHA256.hash($0)) }
    let rpIDHash = SHA256.hash(Self.appID)
    let nothing = SHA256.hash("")
    let bodyHash = SHA256.hash(Self.body)
    var requests: [[UInt8]] = []
    requests.reserveCapacity(count)
    for index in 0..<count {
      let device = index % keys.count
      guard let challenge = authority.mint(purpose: .request, random: SecureRandom.bytes(16), now: now)
      else {
        throw BenchmarkError("no challenge")
      }
      let signed = SignedBytes.request(
        audience: Self.audience, challenge: challenge.bytes, method: "POST", target: target,
        authorizationHash: nothing, bodyHash: bodyHash)
      let assertion = try assertion(
        keys[device], rpIDHash, counter: UInt32(index / keys.count + 1), clientDataHash: SHA256.hash(signed))
      let head = """
        POST \(target) HTTP/1.1\r
        Host: bench.example\r
        Content-Type: application/json\r
        anthropic-version: 2023-06-01\r
        x-attest-key-id: \(names[device])\r
        x-attest-challenge: \(Base64.encodeURL(challenge.bytes))\r
        x-attest-assertion: \(Base64.encode(assertion))\r
        Content-Length: \(Self.body.count)\r
        \r

        """
      requests.append(Array(head.utf8) + Self.body)
    }
    return requests
  }

  private func assertion(
    _ key: P256.PrivateKey, _ rpIDHash: [UInt8], counter: UInt32, clientDataHash: [UInt8]
  ) throws -> [UInt8] {
    let data = rpIDHash + [0x40] + (0..<4).map { UInt8(truncatingIfNeeded: counter >> (24 - 8 * UInt32($0))) }
    let signature = try key.signature(for: SHA256.hash(data + clientDataHash))
    return [0xA2, 0x69] + Array("signature".utf8) + [0x58, UInt8(signature.count)] + signature
      + [0x71] + Array("authenticatorData".utf8) + [0x58, UInt8(data.count)] + data
  }
}

struct BenchmarkError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
