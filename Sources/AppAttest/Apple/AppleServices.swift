import HTTPMessages

/// Where Apple's services for devices are: of receipts and of DeviceCheck, each for keys and tokens of either
/// environment (Apple's pages "Assessing fraud risk" and "Accessing and modifying per-device data").
package struct AppleServices: Sendable, Equatable {
  /// A host with what stands before the paths there.
  package struct Endpoint: Sendable, Equatable {
    /// `https`, but for a simulated Apple on this machine.
    package var scheme: String
    /// Host and port.
    package var authority: String
    /// Empty at Apple.
    package var pathPrefix: String

    package init(scheme: String = "https", authority: String, pathPrefix: String = "") {
      self.scheme = scheme
      self.authority = authority
      self.pathPrefix = pathPrefix
    }

    func post(_ path: String, _ body: HTTPBody, authorization: String, type: String) -> HTTPRequest {
      HTTPRequest(
        method: .post, scheme: scheme, authority: authority, target: pathPrefix + path,
        fields: ["authorization": authorization, "content-type": type], body: body)
    }
  }

  private let receipts: [AttestEnvironment: Endpoint]
  private let deviceChecks: [AttestEnvironment: Endpoint]

  /// Apple's own.
  package static let apple = AppleServices(
    receipts: [
      .production: Endpoint(authority: "data.appattest.apple.com"),
      .development: Endpoint(authority: "data-development.appattest.apple.com"),
    ],
    deviceChecks: [
      .production: Endpoint(authority: "api.devicecheck.apple.com"),
      .development: Endpoint(authority: "api.development.devicecheck.apple.com"),
    ])

  /// All of them at one host, told apart by their paths: `/receipts/production/…`, `/devicecheck/development/…`.
  package init(below base: Endpoint) {
    func all(_ name: String) -> [AttestEnvironment: Endpoint] {
      Dictionary(
        uniqueKeysWithValues: AttestEnvironment.allCases.map { environment in
          var endpoint = base
          endpoint.pathPrefix += "/\(name)/\(environment.rawValue)"
          return (environment, endpoint)
        })
    }
    self.init(receipts: all("receipts"), deviceChecks: all("devicecheck"))
  }

  private init(
    receipts: [AttestEnvironment: Endpoint], deviceChecks: [AttestEnvironment: Endpoint]
  ) {
    self.receipts = receipts
    self.deviceChecks = deviceChecks
  }

  /// Takes receipts of keys of that environment.
  package func receipts(_ environment: AttestEnvironment) -> Endpoint {
    receipts[environment] ?? Endpoint(authority: "data.appattest.apple.com")
  }

  /// Knows the devices of tokens of that environment.
  package func deviceCheck(_ environment: AttestEnvironment) -> Endpoint {
    deviceChecks[environment] ?? Endpoint(authority: "api.devicecheck.apple.com")
  }
}
