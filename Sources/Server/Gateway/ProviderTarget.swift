import Cryptography
import Encodings
import Gateway
import HTTPMessages

/// A provider as it is configured: where it is, with which key, under which policy, and how it is.
struct ProviderTarget: Sendable {
  let provider: any Provider
  let base: BaseURL
  let policy: Configuration.RoutePolicy
  let bodyLimit: Int
  /// Shared by all that calls this provider.
  let health: ProviderHealth
  private let apiKey: Secret
  private let pseudonymKey: [UInt8]

  /// Nil when the base URL is none: the configuration's reader refuses that before.
  init?(_ configuration: any ConfiguredProvider, health: ProviderHealth = ProviderHealth()) {
    guard let base = BaseURL(configuration.baseURL) else { return nil }
    self.health = health
    provider = configuration.provider
    self.base = base
    policy = configuration.policy
    bodyLimit = configuration.bodyLimit
    apiKey = configuration.apiKey
    pseudonymKey = HKDFSHA256.derive(
      secret: Array(configuration.apiKey.value.utf8), label: "bramley provider pseudonym v1")
  }

  /// How its errors are written for apps.
  var errors: ErrorStyle { .of(path: path("/")[...]) }

  /// Where apps find a path of the provider.
  func path(_ providerPath: String) -> String { "/ai/\(provider.name)\(providerPath)" }

  /// What no answer may hold.
  var secrets: [[UInt8]] { [Array(apiKey.value.utf8)] }

  /// The name under which the provider may know the device: it tells devices apart, and nobody can compute it
  /// from a key id.
  func pseudonym(keyID: [UInt8]) -> String {
    Hex.encode(HMACSHA256.code(for: keyID, key: pseudonymKey).prefix(16))
  }

  /// The request as it goes out.
  func request(_ call: PreparedCall) -> HTTPRequest {
    var fields = call.fields
    provider.authorize(&fields, credential: apiKey.value)
    return HTTPRequest(
      method: call.method, scheme: base.scheme, authority: base.authority, target: base.path + call.path,
      fields: fields, body: HTTPBody(call.body))
  }
}
