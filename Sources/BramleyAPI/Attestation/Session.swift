public import Encodings

/// The body of `POST /attest/v1/token`, which comes with an assertion under the token tag.
public struct SessionRequest: Sendable, Equatable {
  /// The routes that the token is to open, as the server names them; empty for all whose policy takes one.
  public var routes: [String]

  /// A request.
  public init(routes: [String] = []) { self.routes = routes }

  /// Reads a body; an empty one asks for all routes. Nil when it is no such request.
  public init?(body: [UInt8]) {
    routes = []
    if body.isEmpty { return }
    guard let node = try? JSONReader.read(body), node.members != nil else { return nil }
    guard let listed = node["routes"], !listed.isNull else { return }
    guard let elements = listed.elements else { return nil }
    for element in elements {
      guard let route = element.string else { return nil }
      routes.append(route)
    }
  }

  /// The body.
  public var json: JSONValue {
    routes.isEmpty ? .object([]) : ["routes": .array(routes.map(JSONValue.string))]
  }
}

/// The answer of `POST /attest/v1/token`. Its description does not show the token.
public struct SessionAnswer: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
  /// Opaque, `bat_…`: a secret.
  public var token: String
  /// How long it holds, seconds.
  public var expiresIn: Int64

  /// An answer.
  public init(token: String, expiresIn: Int64) {
    self.token = token
    self.expiresIn = expiresIn
  }

  /// Reads a body; nil when it is no such answer.
  public init?(body: [UInt8]) {
    guard let node = try? JSONReader.read(body), let token = node["token"]?.string,
      let expiresIn = node["expires_in"]?.integer
    else { return nil }
    self.init(token: token, expiresIn: expiresIn)
  }

  /// The body.
  public var json: JSONValue { ["token": .string(token), "expires_in": .integer(expiresIn)] }

  /// Without the token.
  public var description: String { "SessionAnswer(expiresIn: \(expiresIn))" }
  /// Without the token.
  public var customMirror: Mirror { Mirror(self, children: ["expiresIn": expiresIn]) }
}
