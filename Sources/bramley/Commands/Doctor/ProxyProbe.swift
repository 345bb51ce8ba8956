import BramleyAPI
import HTTPMessages
import Server
import System
import Transport

/// What stands between the clients and this server, seen by asking a public base URL how the question arrived.
struct ProxyProbe {
  /// Octets that proxies like to change: an escape that needs none, two slashes, a blank, a letter in two
  /// spellings, a parameter; in the query an order and escapes in both cases.
  static let suffix = "//%7Eprobe/%41a%20b;v=1?b=%7e&a=2&a=1&%2F=%2f"

  /// A stream's first event comes this long before its last, at least; the server takes a second.
  private static let spread = Duration.milliseconds(600)

  let client: any HTTPHandler
  let base: BaseURL

  private var name: String { "\(base.scheme)://\(base.authority)\(base.path)" }
  private var target: String { AttestTargets.probe + Self.suffix }

  /// All that can be said of the base URL.
  func findings() async -> [Finding] {
    let response: HTTPResponse
    let answer: ProbeAnswer?
    do {
      response = try await client.respond(to: request(target))
      answer = ProbeAnswer(try await response.body.collect(upTo: 16_384))
    } catch {
      return [Finding(.bad, "proxy", "\(name) does not answer: \(error)")]
    }
    guard response.status == 200, let answer else {
      return [
        Finding(
          .bad, "proxy",
          "\(name) answers \(response.status), not as this Bramley does: the proxy leads it elsewhere, "
            + "refuses paths with %7E or //, or no server runs behind it")
      ]
    }
    return [path(answer), evidence(answer), address(answer), await stream()]
  }

  private func request(_ target: String) -> HTTPRequest {
    var request = HTTPRequest(
      method: .get, scheme: base.scheme, authority: base.authority, target: base.path + target)
    for field in ProbeAnswer.evidence { request.fields[field.name] = field.value }
    return request
  }

  /// RULES §1.2: the device signs the octets after the base URL.
  func path(_ answer: ProbeAnswer) -> Finding {
    if answer.target == target { return Finding(.good, "paths", "\(name): arrive as they are sent") }
    let what = "\(name): \(target) arrives as \(answer.target), so no assertion would hold; "
    if !base.path.isEmpty, answer.target == base.path + target {
      return Finding(.bad, "paths", what + "have the proxy take \(base.path) away")
    }
    if answer.target.hasSuffix(target) {
      return Finding(.bad, "paths", what + "have the proxy add nothing before the path")
    }
    return Finding(
      .bad, "paths",
      what + "have the proxy pass path and query as they come (nginx: no path after proxy_pass's port, "
        + "merge_slashes off)")
  }

  func evidence(_ answer: ProbeAnswer) -> Finding {
    answer.hasEvidence
      ? Finding(.good, "header fields", "\(name): Authorization and X-Attest-… arrive unchanged")
      : Finding(
        .bad, "header fields",
        "\(name): the proxy drops or changes Authorization or X-Attest-…; have it pass both")
  }

  func address(_ answer: ProbeAnswer) -> Finding {
    switch (answer.isForwarded, answer.isPeerTrusted) {
    case (true, true):
      Finding(.good, "addresses", "\(name): the proxy is trusted and says whom it asks for")
    case (true, false):
      Finding(
        .bad, "addresses",
        "\(name): X-Forwarded-For comes from a proxy that is not trusted, so all clients count as one; "
          + "add the address that it connects from to trusted_proxies")
    case (false, true):
      Finding(
        .bad, "addresses",
        "\(name): the trusted proxy sends no X-Forwarded-For, so all clients count as one; have it add that")
    case (false, false):
      base.scheme == "https"
        ? Finding(
          .bad, "addresses",
          "\(name): what ends TLS there sends no X-Forwarded-For, so all clients count as one; have it add "
            + "that, and name it in trusted_proxies")
        : Finding(.good, "addresses", "\(name): no proxy stands between")
    }
  }

  private func stream() async -> Finding {
    let clock = ContinuousClock()
    do {
      let response = try await client.respond(to: request(AttestTargets.probe + "/stream"))
      guard response.status == 200, case .stream(let body, _) = response.body.content else {
        return Finding(.bad, "streams", "\(name): is answered \(response.status)")
      }
      guard try await body.next() != nil else {
        return Finding(.bad, "streams", "\(name): the stream is empty")
      }
      let first = clock.now
      while try await body.next() != nil {}
      return clock.now - first >= Self.spread
        ? Finding(.good, "streams", "\(name): pass as they come")
        : Finding(
          .bad, "streams",
          "\(name): the proxy holds answers back; turn its buffering off (nginx: proxy_buffering off; "
            + "Caddy: flush_interval -1)")
    } catch {
      return Finding(.bad, "streams", "\(name): broke: \(error)")
    }
  }
}
