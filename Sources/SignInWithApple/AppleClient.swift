/// A client id that the operator registered with Apple, and so an audience of tokens.
package struct AppleClient: Sendable, Hashable {
  /// How tokens for it come about, which decides what their nonce must be.
  package enum Kind: String, Sendable, CaseIterable {
    /// A bundle id: the system's sheet on a device.
    case native
    /// A Services ID: Apple's page in a browser.
    case web
  }

  /// The bundle id or Services ID.
  package let clientID: String
  package let kind: Kind
  /// The team that it belongs to: subjects are the same in all of a team's clients, and in no other's.
  package let teamID: String

  package init(clientID: String, kind: Kind, teamID: String) {
    self.clientID = clientID
    self.kind = kind
    self.teamID = teamID
  }
}

/// Where Apple is. Endpoints and issuer are fixed here and never discovered: for a day in June 2025 the discovery
/// document named another issuer than the tokens, and who trusted it turned everyone away.
package struct AppleIDService: Sendable, Equatable {
  /// `iss` of tokens and `aud` of client secrets.
  package static let issuer = "https://appleid.apple.com"

  /// `https`, but for a simulated Apple on this machine.
  package let scheme: String
  /// Host and port.
  package let authority: String
  /// What stands before `/auth/…`; empty at Apple.
  package let pathPrefix: String

  package init(scheme: String, authority: String, pathPrefix: String = "") {
    self.scheme = scheme
    self.authority = authority
    self.pathPrefix = pathPrefix
  }

  /// Apple's own.
  package static let apple = AppleIDService(scheme: "https", authority: "appleid.apple.com")
}
