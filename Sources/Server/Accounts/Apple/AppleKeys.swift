import Cryptography
import Encodings
import HTTPMessages
import SignInWithApple

/// Apple's signing keys, fetched when they are needed: once for all who wait, apart from any request, so that
/// nobody who leaves takes the answer from the others.
actor AppleKeys {
  private let http: any HTTPHandler
  private let requests: AppleRequests
  private let background: @Sendable (@escaping @Sendable () async -> Void) -> Void
  private let now: @Sendable () -> Int64
  private let log: ApplicationLog
  private var known = AppleKeySet()
  private var waiting: [CheckedContinuation<Void, Never>] = []

  init(_ environment: Environment, _ ports: AccountEnvironment, log: ApplicationLog) {
    http = ports.apple
    requests = AppleRequests(service: ports.appleService)
    background = environment.background
    now = environment.now
    self.log = log
  }

  /// The key of that name; throws an `AppleTokenError`, where there is none, or a ``Failure``, where Apple does not
  /// answer.
  func key(_ kid: String) async throws -> RSA.PublicKey {
    // Twice at most: what was asked for is then known, unknown or unavailable.
    for _ in 0..<3 {
      switch known.lookup(kid, now: now() / 1000) {
      case .key(let key): return key
      case .unknown: throw AppleTokenError.unknownKey(kid: kid)
      case .unavailable(let seconds): throw Failure.appleUnavailable(retryAfter: seconds)
      case .fetch:
        background { await self.fetch() }
        await answered()
      case .wait: await answered()
      }
    }
    throw Failure.appleUnavailable(retryAfter: 1)
  }

  private func answered() async { await withCheckedContinuation { waiting.append($0) } }

  private func fetch() async {
    do {
      let response = try await http.respond(to: requests.keys())
      let body = try await response.body.collect(upTo: AppleAnswer.maximumLength)
      let keys = try AppleAnswer.keys(status: response.status, fields: response.fields, body: body)
      known.fetched(keys, now: now() / 1000)
    } catch {
      known.failed(now: now() / 1000)
      log.error("apple_keys_not_fetched", [("error", .string("\(error)"))])
    }
    let resumed = waiting
    waiting = []
    for continuation in resumed { continuation.resume() }
  }
}
