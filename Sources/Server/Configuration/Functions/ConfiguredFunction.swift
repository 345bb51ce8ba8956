package import Gateway

extension Configuration {
  /// A function as the operator wrote it: what it asks, and whom it lets ask.
  package struct Function: Sendable, Equatable {
    /// Who must have signed in.
    package enum SignIn: String, Sendable, CaseIterable {
      case none
      /// Any user.
      case anonymous
      /// A user with an identity.
      case identity
    }

    package var definition: FunctionDefinition
    package var policy = RoutePolicy.assertion
    package var signIn = SignIn.none
    /// How long ago the user may have proved themself at most, seconds; nil for any time (RULES §3.2).
    package var maximumAge: Int64?

    package init(_ definition: FunctionDefinition) { self.definition = definition }

    /// Where apps find it.
    package var path: String { Self.path(definition.name) }

    /// Where apps find the function of that name.
    package static func path(_ name: String) -> String { "/functions/v1/\(name)" }
  }
}

extension ConfiguredProvider {
  /// The provider for one function: its model is the only one. How long its requests are, the function's fields
  /// say.
  package func pinned(to function: FunctionDefinition) -> any ConfiguredProvider {
    var own = self
    own.models = [function.model]
    own.aliases = [:]
    own.bodyLimit = 32 << 20
    return own
  }
}
