package import Encodings

/// A function as the operator wrote it: a prompt that stays on the server, with a provider and a pinned model,
/// and what an app may fill in.
package struct FunctionDefinition: Sendable, Equatable {
  /// Who says a message.
  package enum Role: String, Sendable, CaseIterable {
    case user
    case assistant
  }

  /// A message of a conversation.
  package struct Message: Sendable, Equatable {
    package var role: Role
    package var text: FunctionTemplate

    package init(_ role: Role, _ text: FunctionTemplate) {
      self.role = role
      self.text = text
    }
  }

  /// What the model is asked.
  package enum Prompt: Sendable, Equatable {
    /// To go on with a conversation.
    case messages(system: FunctionTemplate?, [Message])
    /// To draw a picture.
    case image(FunctionTemplate)
  }

  /// What the model's text is.
  package enum Form: String, Sendable, CaseIterable {
    case text
    /// JSON, which the app gets read.
    case json
  }

  /// What becomes of the answer.
  package enum Result: String, Sendable, CaseIterable {
    /// The app gets it whole.
    case whole = "return"
    /// The app gets it as it comes.
    case stream
    /// It is kept, and the app gets its place.
    case store
  }

  /// A model that is asked where those before it fail.
  package struct Fallback: Sendable, Equatable {
    /// The provider's name.
    package var provider: String
    /// The model by the provider's name for it.
    package var model: String

    package init(provider: String, model: String) {
      self.provider = provider
      self.model = model
    }
  }

  package var name: String
  /// The provider's name.
  package var provider: String
  /// The model by the provider's name for it.
  package var model: String
  /// Who is asked next where that one fails, in this order.
  package var fallbacks: [Fallback] = []
  package var prompt: Prompt
  package var fields: [FunctionField]
  package var form = Form.text
  package var result = Result.whole
  /// The most output tokens.
  package var outputLimit: Int64 = 1024
  /// How the provider may keep the part of the prompt that is the same in every call.
  package var cache = CacheUse.none
  /// As the configuration spells it; nil takes the provider's own.
  package var temperature: String?
  /// Further members of an image's request, such as its size.
  package var parameters: [(name: String, value: JSONValue)] = []

  package init(
    name: String, provider: String, model: String, prompt: Prompt, fields: [FunctionField] = []
  ) {
    self.name = name
    self.provider = provider
    self.model = model
    self.prompt = prompt
    self.fields = fields
  }

  /// The function by each model that may answer, in the order in which they are asked.
  package var chain: [FunctionDefinition] {
    [self]
      + fallbacks.map { fallback in
        var next = self
        next.provider = fallback.provider
        next.model = fallback.model
        return next
      }
  }

  /// The templates of the prompt.
  package var templates: [FunctionTemplate] {
    switch prompt {
    case .messages(let system, let messages): [system].compactMap(\.self) + messages.map(\.text)
    case .image(let template): [template]
    }
  }

  package static func == (left: FunctionDefinition, right: FunctionDefinition) -> Bool {
    left.name == right.name && left.provider == right.provider && left.model == right.model
      && left.fallbacks == right.fallbacks && left.prompt == right.prompt && left.fields == right.fields
      && left.form == right.form
      && left.result == right.result && left.outputLimit == right.outputLimit && left.cache == right.cache
      && left.temperature == right.temperature
      && JSONValue.object(left.parameters.map { ($0.name, $0.value) })
        == .object(right.parameters.map { ($0.name, $0.value) })
  }
}
