import Encodings
import Gateway
import HTTPMessages

/// One model that may answer a function, and how it is asked.
struct FunctionLink: Sendable {
  let function: FunctionDefinition
  let dialect: any FunctionDialect
  let target: ProviderTarget

  /// - Parameter function: with that model as its own.
  ///
  /// nil for a provider that is not configured, which the configuration's reader refuses before.
  init?(_ function: FunctionDefinition, configuration: Configuration, targets: [String: ProviderTarget]) {
    guard let configured = configuration.providers.first(where: { $0.name == function.provider }),
      let shared = targets[function.provider], let dialect = FunctionDialects.of(function.provider),
      let target = ProviderTarget(configured.pinned(to: function), health: shared.health)
    else { return nil }
    self.function = function
    self.dialect = dialect
    self.target = target
  }

  /// How it is asked with an app's input: judged as any other call of the provider.
  func call(_ body: [UInt8], now: Int64) -> CallLink {
    CallLink(target: target) { pseudonym throws(ProviderRefusal) in
      let input = try FunctionInput(body, fields: function.fields)
      let request = function.request(of: input, in: dialect)
      return try target.provider.prepare(
        ProviderRequest(
          method: .post, path: request.path, fields: request.fields, body: request.body,
          pseudonym: pseudonym, now: now))
    }
  }
}
