import AppAttest
import Cryptography
import Encodings
import HTTPMessages
import Server
import SignInWithApple

/// Whether Apple's services for devices take the team's key: a token of no device is refused as one by an Apple that
/// took the key, and anything else says that a setting is wrong.
struct DeviceProbe {
  let client: any HTTPHandler
  var services = AppleServices.apple
  let attest: Configuration.Attest
  /// Milliseconds since 1970.
  let now: Int64

  func finding() async -> Finding {
    guard let settings = attest.appleKey else {
      return Finding(
        .note, "device key",
        "attest.apple_key is not configured: the risk metric of receipts is not known, and every key is a newcomer"
      )
    }
    guard let privateKey = try? ApplePrivateKey.read(settings.privateKey.value) else {
      return Finding(.bad, "device key", "attest.apple_key.private_key is no .p8 of Apple's")
    }
    let key = AppleServiceKey(teamID: settings.teamID, keyID: settings.keyID, key: privateKey)
    let isProduction = attest.apps.contains { $0.environments.contains(.production) }
    do {
      try await ask(key, isProduction ? .production : .development)
      return Finding(.note, "device key", "Apple took a token of no device, and so said nothing")
    } catch DeviceCheckRefusal.deviceToken {
      return Finding(.good, "device key", "\(key): taken")
    } catch DeviceCheckRefusal.credentials(let status, let detail) {
      return Finding(
        .bad, "device key",
        "\(key): Apple answers \(status)\(detail.map { " (\($0))" } ?? ""); compare team_id and key_id with Apple's "
          + "portal. The key must be enabled for DeviceCheck and not revoked, and this machine's clock must be right"
      )
    } catch {
      return Finding(.note, "device key", "Apple did not say: \(error)")
    }
  }

  private func ask(_ key: AppleServiceKey, _ environment: AttestEnvironment) async throws {
    guard let transaction = UUID(random: SecureRandom.bytes(16)),
      let subject = DeviceCheck.Subject(
        token: Base64.encode(SecureRandom.bytes(64)), environment: environment, transaction: transaction,
        now: now)
    else { throw DeviceCheckRefusal.noAnswer }
    let request = DeviceCheck(services: services).validate(subject, token: try key.token(now: now / 1_000))
    let response = try await client.respond(to: request)
    let body = try await response.body.collect(upTo: DeviceCheck.maximumLength)
    try DeviceCheckAnswer.done(status: response.status, body: body)
  }
}
