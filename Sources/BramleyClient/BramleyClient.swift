public import BramleyAPI
import Encodings
public import HTTPMessages

/// An app's way to its Bramley server: it registers this device once, proves it with every request, and takes
/// care of challenges, lost keys and repeated attempts.
///
/// It is an ``HTTPHandler`` itself: whatever speaks HTTP through a handler becomes attested by going through
/// it. Targets are paths below the base URL.
public actor BramleyClient: HTTPHandler {
  /// How a request proves where it comes from.
  public enum Evidence: Sendable {
    /// An assertion over this very request: the default.
    case assertion
    /// A session token, on routes whose policy takes one: one assertion for ten minutes.
    case session
  }

  /// What can be set otherwise than usual.
  public struct Options: Sendable {
    /// The audience to sign where it is not the base URL.
    public var audience: String?
    /// How many challenges are fetched at once, 1 to 16.
    public var prefetch = 4
    /// Seconds between two registrations of this device.
    public var registrationCoolDown: Int64 = 600
    /// Whether plain http is taken for other hosts than this machine.
    public var allowsPlainHTTP = false
    /// Whether a registration carries a token of DeviceCheck, by which a server that is configured for it learns
    /// whether this device registered before its app was installed anew.
    public var sendsDeviceToken = false
    #if DEBUG
      /// Sent in place of an attestation, for Xcode's simulator: `bramley keys debug create` makes one. It does
      /// not exist in release builds, so that no token gets into one (RULES §6.5).
      public var debugToken: String?
    #endif

    /// The usual.
    public init() {}
  }

  let address: ServerAddress
  let audience: String
  let transport: any HTTPHandler
  let attestation: any AppAttestService
  let options: Options
  let now: @Sendable () -> Int64
  var pool = ChallengePool()
  let fetching = SingleFlight<Void>()
  var waitingForChallenge = 0
  let storage: any KeyIDStorage
  var registration = RegistrationState()
  let registering = SingleFlight<String>()
  var sessions = SessionCache()
  var exchanging: [[String]: SingleFlight<SessionAnswer>] = [:]

  /// A client of one server.
  ///
  /// - Parameters:
  ///   - baseURL: https; http for this machine alone. It is the audience of what is signed.
  ///   - transport: sends a request to the host that it names; follows no redirects.
  ///   - attestation: this device.
  ///   - storage: where the key's id is kept.
  ///   - options: what can be set otherwise than usual.
  ///   - now: seconds since 1970.
  public init(
    baseURL: String, transport: any HTTPHandler, attestation: any AppAttestService,
    storage: any KeyIDStorage, options: Options = Options(), now: @escaping @Sendable () -> Int64
  ) throws(BramleyError) {
    address = try ServerAddress(baseURL, allowsPlainHTTP: options.allowsPlainHTTP)
    audience = options.audience ?? address.text
    self.transport = transport
    self.attestation = attestation
    self.options = options
    self.now = now
    self.storage = storage
  }

  /// Sends an attested request and returns the answer, whatever its status, its body streamed. Throws
  /// ``BramleyError`` for what arose here, and the transport's errors as they are.
  public func respond(to request: HTTPRequest) async throws -> HTTPResponse {
    try await respond(to: request, with: .assertion)
  }

  /// The same with a choice of evidence.
  public func respond(to request: HTTPRequest, with evidence: Evidence) async throws -> HTTPResponse {
    let exchange = try await AttestedExchange(request, hash: attestation.sha256)
    #if DEBUG
      if let token = options.debugToken {
        var request = exchange.request
        request.fields[AttestFields.session] = token
        return try await sendPlain(request)
      }
    #endif
    return switch evidence {
    case .assertion: try await send(exchange, tag: .request)
    case .session: try await sendWithSession(exchange)
    }
  }

  /// Registers this device now, if it is not registered; a request does so by itself.
  public func register() async throws { _ = try await keyID() }

  /// Sends without evidence; remembers the challenge that the answer brings.
  func sendPlain(_ request: HTTPRequest) async throws -> HTTPResponse {
    var request = request
    request.scheme = address.scheme
    request.authority = address.authority
    request.target = address.prefix + request.target
    let response = try await transport.respond(to: request)
    if let next = response.fields[AttestFields.nextChallenge] { pool.add(next: next, now: now()) }
    return response
  }
}

extension BramleyClient.Options: CustomStringConvertible, CustomReflectable {
  /// Without the debug token.
  public var description: String { "Options(audience: \(audience ?? "the base URL"))" }
  /// Without the debug token.
  public var customMirror: Mirror {
    Mirror(self, children: ["audience": audience as Any, "prefetch": prefetch as Any])
  }
}

extension HTTPResponse {
  /// The start of an error's body: more is not needed to read its code. Empty when it cannot be had.
  func errorBody() async -> [UInt8] { (try? await body.collect(upTo: 65_536)) ?? [] }
}
