package import Encodings

/// How a probe arrived.
package struct ProbeAnswer: Sendable, Equatable {
  /// What `doctor` sends: fields that evidence arrives in, with values that are none.
  package static let evidence = [
    (name: "authorization", value: "Bearer bramley-probe"), (name: "x-attest-key-id", value: "probe"),
  ]

  package var target: String
  package var host: String?
  /// As a proxy told it.
  package var scheme: String?
  /// Whether the fields of ``evidence`` came, once each and unchanged.
  package var hasEvidence: Bool
  /// Whether there was an X-Forwarded-For.
  package var isForwarded: Bool
  /// Whether it came from one of `trusted_proxies`.
  package var isPeerTrusted: Bool

  package init(
    target: String, host: String?, scheme: String?, hasEvidence: Bool, isForwarded: Bool, isPeerTrusted: Bool
  ) {
    self.target = target
    self.host = host
    self.scheme = scheme
    self.hasEvidence = hasEvidence
    self.isForwarded = isForwarded
    self.isPeerTrusted = isPeerTrusted
  }

  package var json: JSONValue {
    [
      "target": .string(target), "host": host.map { .string($0) } ?? .null,
      "scheme": scheme.map { .string($0) } ?? .null, "evidence": .bool(hasEvidence),
      "forwarded": .bool(isForwarded), "trusted": .bool(isPeerTrusted),
    ]
  }

  /// nil for anything that ``json`` does not make.
  package init?(_ body: [UInt8]) {
    guard let node = try? JSONReader.read(body), let target = node["target"]?.string,
      let evidence = node["evidence"]?.bool, let forwarded = node["forwarded"]?.bool,
      let trusted = node["trusted"]?.bool
    else { return nil }
    self.init(
      target: target, host: node["host"]?.string, scheme: node["scheme"]?.string, hasEvidence: evidence,
      isForwarded: forwarded, isPeerTrusted: trusted)
  }
}
