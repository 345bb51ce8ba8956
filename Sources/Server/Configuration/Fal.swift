package import Gateway

extension Configuration {
  /// The provider fal.ai.
  package struct Fal: ConfiguredProvider {
    package static let name = "fal"
    package static let exampleModel = "fal-ai/flux/schnell"
    /// A model is a path, and has no other name.
    package static let hasAliases = false

    /// What a model takes, where that is not what every model takes.
    package struct Input: Sendable, Equatable {
      package var model: String
      package var maximumImages: Int64 = 1
      package var maximumPixels: Int64 = 1_048_576
      package var maximumSteps: Int64 = 0
      package var promptLimit = 2_000
      package var choices: [String: [String]] = [:]

      package init(model: String) { self.model = model }
    }

    package var settings: ProviderSettings
    /// Where the queue is; a base URL without a slash at its end.
    package var queueURL = "https://queue.fal.run"
    package var inputs: [Input] = []
    /// Hosts from which the server itself takes files that models made (RULES §6.3).
    package var fileHosts: Set<String> = ["fal.media", "*.fal.media"]
    /// Octets of such a file.
    package var fileLimit = 20 << 20
    /// How models are called by this value; the queue has the same settings elsewhere.
    private var way = Gateway.Fal.Way.direct

    package init(apiKey: Secret) {
      settings = ProviderSettings(baseURL: "https://fal.run", apiKey: apiKey, bodyLimit: 65_536)
    }

    package var provider: any Provider {
      let apps = models.map { model in
        let input = inputs.first { $0.model == model } ?? Input(model: model)
        return FalApp(
          id: model, maximumImages: input.maximumImages, maximumPixels: input.maximumPixels,
          maximumSteps: input.maximumSteps, promptLimit: input.promptLimit, choices: input.choices)
      }
      return Gateway.Fal(apps: apps, prices: priceTable, way: way, maximumBody: bodyLimit, name: name)
    }

    /// The same provider by its queue.
    package var queue: Fal {
      var queue = self
      queue.way = .queue
      queue.baseURL = queueURL
      return queue
    }
  }
}
