import Gateway

/// A fallback as it is written, and where.
struct WrittenFallback {
  var fallback: FunctionDefinition.Fallback
  var provider: ConfigurationEntry
  var model: ConfigurationEntry
}

extension ConfigurationSection {
  /// More of them only delay the answer that there is none.
  private static let mostFallbacks = 4

  /// Who is asked where a function's provider fails (RULES §5.6).
  func fallbacks() -> [WrittenFallback] {
    let all =
      objects("fallbacks") { section -> WrittenFallback? in
        let provider = section.entry("provider")
        let model = section.entry("model")
        if section.survey { return nil }
        guard let provider, let model else {
          section.reading.mistake(
            section.path, section.here, "provider and model belong together",
            "write { \"provider\": \"openai\", \"model\": \"gpt-4.1-mini\" }")
          return nil
        }
        guard let name = provider.string(), let text = model.string() else { return nil }
        return WrittenFallback(
          fallback: FunctionDefinition.Fallback(provider: name, model: text), provider: provider, model: model
        )
      } ?? []
    if all.count > Self.mostFallbacks {
      reading.mistake(
        fullPath("fallbacks"), here, "there are too many", "keep the first \(Self.mostFallbacks)")
    }
    return all
  }

  /// Takes the fallbacks into the function. Each must be able to answer as the first does.
  func check(
    _ written: [WrittenFallback], of function: inout FunctionDefinition, _ providers: [any ConfiguredProvider]
  ) {
    var known = [FunctionDefinition.Fallback(provider: function.provider, model: function.model)]
    for next in written {
      let fallback = next.fallback
      guard !known.contains(fallback) else {
        reading.mistake(next.model, "this model is asked before", "remove it, or write another")
        continue
      }
      known.append(fallback)
      guard let configured = providers.first(where: { $0.name == fallback.provider }),
        let dialect = FunctionDialects.of(fallback.provider)
      else {
        reading.mistake(
          next.provider, "there is no such provider", "write a key of providers, or add it there")
        continue
      }
      guard dialect.draws == function.drawsImage else {
        reading.mistake(
          next.provider, dialect.draws ? "this provider draws images" : "this provider draws no images",
          "write one that answers what the first does")
        continue
      }
      var trial = function
      trial.provider = fallback.provider
      trial.model = fallback.model
      self.trial(trial, dialect, configured, next.model)
      function.fallbacks.append(fallback)
    }
  }
}

extension FunctionDefinition {
  fileprivate var drawsImage: Bool { if case .image = prompt { true } else { false } }
}
