import AppleSimulator
import Cryptography
import Encodings
import HTTPMessages
import Server
import System

/// Every provider that `dev` has, all simulated, told apart by the authority that is asked. Their key is made anew
/// each time, and is of no value anywhere.
struct SimulatedProviders: HTTPHandler {
  private let key: String
  private let anthropic: SimulatedAnthropic
  private let openAI: SimulatedOpenAI
  /// Also where the files of its results are.
  let fal: SimulatedFal

  init(sleep: @escaping @Sendable (Duration) async throws -> Void) {
    let key = "simulated-" + Base64.encodeURL(SecureRandom.bytes(16))
    self.key = key
    anthropic = SimulatedAnthropic(apiKey: key, now: { WallClock.seconds }, sleep: sleep)
    openAI = SimulatedOpenAI(apiKey: key, now: { WallClock.seconds }, sleep: sleep)
    fal = SimulatedFal(apiKey: key, sleep: sleep)
  }

  /// Configures all of them, with every model that they serve.
  func configure(_ configuration: inout Configuration) {
    configuration.anthropic = configured(
      Configuration.Anthropic(apiKey: Secret(key)), models: SimulatedModel.all.map(\.id))
    configuration.openAI = configured(
      Configuration.OpenAI(apiKey: Secret(key)), models: SimulatedOpenAI.models.map(\.id))
    configuration.fal = configured(
      Configuration.Fal(apiKey: Secret(key)), models: [Configuration.Fal.exampleModel])
  }

  func respond(to request: HTTPRequest) async throws -> HTTPResponse {
    switch request.authority {
    case "api.openai.com": try await openAI.respond(to: request)
    case let host where SimulatedFal.Hosts().contains(host): try await fal.respond(to: request)
    default: try await anthropic.respond(to: request)
    }
  }

  private func configured<Provider: ConfiguredProvider>(
    _ provider: Provider, models: [String]
  ) -> Provider {
    var provider = provider
    provider.models = models
    provider.policy = .session
    return provider
  }
}
