package import HTTPMessages

/// How one provider is asked what a function asks, and how its answer is read: what makes providers
/// exchangeable for an app.
package protocol FunctionDialect: Sendable {
  /// The provider's name.
  var provider: String { get }

  /// Whether it draws pictures, or goes on with conversations.
  var draws: Bool { get }

  /// The request of a prompt. It goes through the provider's own judgement like one of an app.
  func request(of prompt: FunctionPrompt, _ function: FunctionDefinition) -> FunctionRequest

  /// A reader of the answer.
  func reader() -> any FunctionReader
}

/// A request that a function makes.
package struct FunctionRequest: Sendable, Equatable {
  /// The provider's own path.
  package var path: String
  package var fields: HTTPFields
  package var body: [UInt8]

  package init(path: String, fields: HTTPFields = ["content-type": "application/json"], body: [UInt8]) {
    self.path = path
    self.fields = fields
    self.body = body
  }
}

/// The providers that functions can use.
package enum FunctionDialects {
  package static let all: [any FunctionDialect] = [AnthropicDialect(), OpenAIDialect(), FalDialect()]

  /// The dialect of the provider; nil for one that functions cannot use.
  package static func of(_ provider: String) -> (any FunctionDialect)? {
    all.first { $0.provider == provider }
  }
}

extension FunctionDefinition {
  /// The request that the function makes of an app's input.
  package func request(of input: FunctionInput, in dialect: any FunctionDialect) -> FunctionRequest {
    dialect.request(of: FunctionPrompt(self, input), self)
  }
}
