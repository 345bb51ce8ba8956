import Admission
import AppAttest
import BramleyAPI
import Cryptography
import Encodings
import HTTPMessages

/// Evidence whose signature, binding and freshness were checked. Whether it was used before is the ledger's to
/// decide, in the transaction that counts it.
struct VerifiedEvidence: Sendable {
  let evidence: AdmissionRequest.Evidence
  /// The registered key, where the evidence is of one that is known already.
  let key: DeviceKey?
  /// The name of a debug token.
  let debugToken: String?

  init(_ evidence: AdmissionRequest.Evidence, key: DeviceKey? = nil, debugToken: String? = nil) {
    self.evidence = evidence
    self.key = key
    self.debugToken = debugToken
  }
}

/// Checks evidence as far as the processor can.
final class EvidenceVerifier: Sendable {
  /// What is signed for: each has its own tag (RULES §1.1).
  enum Binding: Sendable {
    case request
    case tokenExchange
  }

  let configuration: Configuration
  let apps: [String: AcceptedApp]
  let challenges: ChallengeKeys
  let keys: KeyCache
  let ledger: any AdmissionLedger

  init(
    _ configuration: Configuration, challenges: ChallengeKeys, keys: KeyCache, ledger: any AdmissionLedger
  ) {
    self.configuration = configuration
    self.challenges = challenges
    self.keys = keys
    self.ledger = ledger
    apps = Dictionary(
      configuration.attest.acceptedApps.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
  }

  /// What holds of the evidence before the body is read: nobody without a challenge of ours and a known key, or
  /// a token of ours, gets a body buffered.
  enum Begun: Sendable {
    /// Nothing more to check here.
    case complete(VerifiedEvidence)
    /// The signature is over the body as well.
    case assertion([UInt8], ParsedKey, AcceptedApp, Challenge, Binding)
  }

  /// Checks what was presented against the policy of the route. Throws a ``Failure``.
  ///
  /// - Parameters:
  ///   - route: the template, which a session token must open.
  ///   - body: the request's. Where it is to be read still, a token is looked up before.
  ///   - now: milliseconds since 1970.
  func begin(
    _ presented: PresentedEvidence, route: String, policy: Configuration.RoutePolicy, body: HTTPBody,
    now: Int64
  ) async throws -> Begun {
    switch presented {
    case .none:
      guard policy == .none else { throw Failure.attestationRequired }
      return .complete(VerifiedEvidence(.none))
    case .assertion:
      return try await beginAssertion(presented, .request, now: now)
    case .session(let token):
      guard policy != .assertion else { throw Failure.attestationRequired }
      guard token.utf8.count <= 128 else { throw Failure.invalidSession }
      try await require(token, toRead: body, now: now)
      return .complete(VerifiedEvidence(.session(tokenHash: Token.hash(token), route: route)))
    case .debugToken(let token):
      // The name stands in the token and counts once the token's hash is found.
      guard let name = Token.name(ofDebugToken: token),
        configuration.deployment != .production || configuration.debugTokens.allowed.contains(name)
      else { throw Failure.invalidSession }
      try await require(token, toRead: body, now: now)
      return .complete(VerifiedEvidence(.debugToken(tokenHash: Token.hash(token)), debugToken: name))
    }
  }

  /// Throws where the token is none of ours and its body has not come yet.
  private func require(_ token: String, toRead body: HTTPBody, now: Int64) async throws {
    guard case .stream = body.content else { return }
    let isKnown: Bool
    do {
      isKnown = try await ledger.knows(tokenHash: Token.hash(token), now: now / 1000)
    } catch let error as CancellationError {
      throw error
    } catch {
      throw Failure.storage(error)
    }
    guard isKnown else { throw Failure.invalidSession }
  }

  /// Checks challenge, key and app of an assertion; nothing else is taken.
  func beginAssertion(
    _ presented: PresentedEvidence, _ binding: Binding, now: Int64
  ) async throws -> Begun {
    guard case .assertion(let keyID, let bytes, let text) = presented else {
      throw Failure.attestationRequired
    }
    let challenge = try await challenges.verify(
      text, binding == .request ? .request : .tokenExchange, now: now)
    let parsed = try await keys.key(keyID)
    guard let app = apps[parsed.key.appID] else { throw Failure.appMismatch }
    return .assertion(bytes, parsed, app, challenge, binding)
  }

  /// Checks the signature over the whole request.
  func finish(
    _ begun: Begun, of request: HTTPRequest, body: [UInt8]
  ) throws(Failure) -> VerifiedEvidence {
    switch begun {
    case .complete(let verified): return verified
    case .assertion(let bytes, let parsed, let app, let challenge, let binding):
      let verified = try verify(bytes, parsed.publicKey, app, binding, challenge, request, body)
      let consumed =
        binding == .tokenExchange
        ? ConsumedChallenge.row(random: challenge.random, expiry: challenge.expiry) : nil
      return VerifiedEvidence(
        .assertion(keyID: parsed.key.keyID, counter: verified.counter, challenge: consumed), key: parsed.key)
    }
  }

  /// The audience is one of ours, and which one the signature says; it never comes from Host (RULES §1.2).
  private func verify(
    _ bytes: [UInt8], _ key: P256.PublicKey, _ app: AcceptedApp, _ binding: Binding, _ challenge: Challenge,
    _ request: HTTPRequest, _ body: [UInt8]
  ) throws(Failure) -> VerifiedAssertion {
    let authorization = SHA256.hash(request.fields["authorization"] ?? "")
    let content = SHA256.hash(body)
    for audience in configuration.attest.audiences {
      let make = binding == .request ? SignedBytes.request : SignedBytes.tokenExchange
      let signed = make(
        audience, challenge.bytes, request.method.rawValue, request.target, authorization, content)
      do throws(AssertionError) {
        return try Assertion.verify(bytes, clientDataHash: SHA256.hash(signed), key: key, app: app)
      } catch {
        if let failure = Failure.of(error) { throw failure }
      }
    }
    throw .badSignature
  }
}

extension Failure {
  /// Why an assertion is refused; nil where it was signed for something else, and may be tried with that.
  static func of(_ error: AssertionError) -> Failure? {
    switch error {
    case .badSignature: nil
    case .appMismatch: .appMismatch
    case .extensionPolicy: .buildNotAccepted
    case .tooLarge, .encoding, .structure, .authenticatorData: .invalidAssertion
    }
  }
}

extension Configuration.Attest {
  /// The apps as attestations and assertions are judged by.
  var acceptedApps: [AcceptedApp] {
    let policy = ExtensionPolicy(
      categories: validationCategories.isEmpty ? nil : validationCategories, acceptsAbsent: !categoryRequired)
    return apps.map { AcceptedApp(id: $0.appID, environments: $0.environments, extensionPolicy: policy) }
  }

  /// Apple's anchors, and the simulator's where it is trusted.
  var anchors: TrustAnchors {
    var anchors = TrustAnchors.apple
    if let certificate = simulatorRoot.flatMap({ try? Certificate(der: $0.certificate) }) {
      let anchor = TrustAnchor(certificate)
      anchors.attestation.append(anchor)
      anchors.receipt.append(anchor)
    }
    return anchors
  }

  /// What a key's row must say to be admitted today (RULES §1.6).
  var expectation: KeyExpectation {
    KeyExpectation(
      apps: Set(apps.flatMap { app in app.environments.map { "\($0.rawValue)/\(app.appID)" } }),
      anchors: Set(anchors.attestation.map(\.fingerprint)))
  }
}
