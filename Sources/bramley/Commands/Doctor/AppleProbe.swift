import Cryptography
import HTTPMessages
import Server
import SignInWithApple

/// Whether Apple knows us: its keys can be had, and it takes the client secret of every client. A code that nobody
/// was given is refused as `invalid_grant` by an Apple that took the secret, and anything else says that a setting
/// is wrong.
struct AppleProbe {
  let client: any HTTPHandler
  var service = AppleIDService.apple
  let apple: Configuration.Auth.Apple
  /// Seconds since 1970.
  let now: Int64

  private var requests: AppleRequests { AppleRequests(service: service) }

  func findings() async -> [Finding] {
    var findings = [await keys()]
    guard let keyID = apple.keyID, let text = apple.privateKey else {
      return findings + [
        Finding(
          .note, "apple secret",
          "auth.apple has no key: no code is exchanged, and nothing can be revoked when an account is deleted"
        )
      ]
    }
    guard let key = try? ApplePrivateKey.read(text.value) else {
      return findings + [Finding(.bad, "apple secret", "auth.apple.private_key is no .p8 of Apple's")]
    }
    let signing = AppleSigningKey(teamID: apple.teamID, keyID: keyID, key: key)
    for client in apple.clients { findings.append(await secret(signing, client)) }
    return findings
  }

  private func keys() async -> Finding {
    do {
      let (response, body) = try await ask(requests.keys())
      let set = try AppleAnswer.keys(status: response.status, fields: response.fields, body: body)
      return Finding(.good, "apple keys", "\(set.keys.count) at \(service.authority)")
    } catch {
      return Finding(.bad, "apple keys", "they cannot be had, so nobody can sign in: \(error)")
    }
  }

  private func secret(_ key: AppleSigningKey, _ client: AppleClient) async -> Finding {
    do {
      let secret = try key.clientSecret(for: client.clientID, now: now)
      let (response, body) = try await ask(requests.probe(secret: secret))
      try AppleAnswer.probe(status: response.status, fields: response.fields, body: body)
      return Finding(.good, "apple secret", "\(client.clientID): taken")
    } catch AppleRefusal.configuration(let error, _) {
      return Finding(
        .bad, "apple secret",
        "\(client.clientID): \(error); compare team_id, key_id and this id with Apple's portal. The key must be "
          + "enabled for Sign in with Apple, not revoked, and of the primary App ID that this client belongs to; "
          + "and this machine's clock must be right")
    } catch {
      return Finding(.note, "apple secret", "\(client.clientID): Apple did not say: \(error)")
    }
  }

  private func ask(_ request: HTTPRequest) async throws -> (HTTPResponse, [UInt8]) {
    do {
      let response = try await client.respond(to: request)
      return (response, try await response.body.collect(upTo: AppleAnswer.maximumLength))
    } catch let error as HTTPClientError {
      throw AppleRefusal(error)
    }
  }
}
