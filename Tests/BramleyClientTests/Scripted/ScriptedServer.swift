import BramleyAPI
import BramleyTesting
import Cryptography
import Encodings
import HTTPMessages

/// The attestation API as the client sees it, in memory. It checks what was signed from the request that
/// arrived, and answers as it was told.
actor ScriptedServer: HTTPHandler {
  static let audience = "https://api.example.com/v"

  let clock: FixedClock
  private var known: Set<[UInt8]> = []
  private var tokens: Set<String> = []
  private var issued = 0
  private var open: [String: ChallengePurpose] = [:]
  private var refusals: [(status: Int, code: ErrorCode)] = []
  private var registrationAnswers: [RegistrationAnswerKind] = []
  private var challengeLength = 42
  private var lifetime: Int64 = 300
  /// What arrived, in order: method and target.
  private(set) var log: [String] = []
  private(set) var attestedRequests: [HTTPRequest] = []
  private let upstream: any HTTPHandler

  enum RegistrationAnswerKind {
    case refuse(Int, ErrorCode)
    case registerAndLose
  }

  struct Lost: Error {}

  init(clock: FixedClock, upstream: any HTTPHandler = Echo()) {
    self.clock = clock
    self.upstream = upstream
  }

  struct Echo: HTTPHandler {
    func respond(to request: HTTPRequest) async throws -> HTTPResponse {
      HTTPResponse(status: 200, body: request.body)
    }
  }

  func refuseNext(_ refusals: (status: Int, code: ErrorCode)...) { self.refusals = refusals }
  func answerRegistrations(_ answers: RegistrationAnswerKind...) { registrationAnswers = answers }
  func issueChallenges(length: Int? = nil, lifetime: Int64? = nil) {
    challengeLength = length ?? challengeLength
    self.lifetime = lifetime ?? self.lifetime
  }
  func forgetEverything() {
    known = []
    tokens = []
  }
  func forgetTokens() { tokens = [] }
  func count(_ prefix: String) -> Int { log.filter { $0.hasPrefix(prefix) }.count }

  func respond(to request: HTTPRequest) async throws -> HTTPResponse {
    guard request.scheme == "https", request.authority == "api.example.com",
      request.target.hasPrefix("/v/")
    else { return problem(404, .notFound) }
    let target = String(request.target.dropFirst(2))
    log.append("\(request.method) \(target)")
    switch request.path.dropFirst(2) {
    case AttestTargets.challenge: return challenges(request)
    case AttestTargets.keys: return try await register(request)
    case AttestTargets.token:
      if let refusal = try await evidence(request, target, .token) { return refusal }
      let token = "bat_\(tokens.count)_\(issued)"
      tokens.insert(token)
      return attested(
        HTTPResponse(
          status: 200, body: HTTPBody(SessionAnswer(token: token, expiresIn: 600).json.bytes)))
    default:
      if let token = request.fields[AttestFields.session] {
        if !tokens.contains(token) { return problem(401, .invalidSession) }
        return try await upstream.respond(to: request)
      }
      if let refusal = try await evidence(request, target, .request) { return refusal }
      attestedRequests.append(request)
      return attested(try await upstream.respond(to: request))
    }
  }

  private func issue(_ purpose: ChallengePurpose) -> String {
    issued += 1
    var bytes = [UInt8](repeating: 0, count: challengeLength)
    for index in 0..<min(4, challengeLength) {
      bytes[index] = UInt8(truncatingIfNeeded: issued >> (index * 8))
    }
    let text = Base64.encodeURL(bytes)
    open[text] = purpose
    return text
  }

  private func challenges(_ request: HTTPRequest) -> HTTPResponse {
    let query = request.query ?? ""
    let parts = query.split(separator: "&")
    let count = parts.first { $0.hasPrefix("count=") }.flatMap { Int($0.dropFirst(6)) } ?? 1
    let purpose =
      parts.first { $0.hasPrefix("purpose=") }
      .flatMap { ChallengePurpose(rawValue: String($0.dropFirst(8))) } ?? .request
    guard (1...16).contains(count) else { return problem(400, .invalidRequest) }
    let expiry = clock.seconds + lifetime
    let answer = ChallengeAnswer(
      challenges: (0..<count).map { _ in IssuedChallenge(text: issue(purpose), expiresAt: expiry) })
    return HTTPResponse(status: 200, body: HTTPBody(answer.json.bytes))
  }

  private func register(_ request: HTTPRequest) async throws -> HTTPResponse {
    guard let body = Registration(body: try await request.body.collect(upTo: 65_536)),
      let challenge = Base64.decode(body.challenge)
    else { return problem(400, .invalidRequest) }
    let answer = registrationAnswers.isEmpty ? nil : registrationAnswers.removeFirst()
    if case .refuse(let status, let code) = answer { return problem(status, code) }
    let signed = SignedBytes.registration(audience: Self.audience, challenge: challenge)
    guard body.attestation == SHA256.hash(signed) else { return problem(400, .attestationInvalid) }
    let isNew = known.insert(body.keyID).inserted
    if isNew, open.removeValue(forKey: body.challenge) != .registration {
      known.remove(body.keyID)
      return problem(401, .challengeUsed)
    }
    if case .registerAndLose = answer { throw Lost() }
    return HTTPResponse(
      status: isNew ? 201 : 200, body: HTTPBody(RegistrationAnswer(keyID: body.keyID).json.bytes))
  }

  /// Nil when the evidence holds.
  private func evidence(
    _ request: HTTPRequest, _ target: String, _ purpose: ChallengePurpose
  ) async throws -> HTTPResponse? {
    guard let text = request.fields[AttestFields.challenge], let challenge = Base64.decode(text),
      let keyID = request.fields[AttestFields.keyID].flatMap({ Base64.decode($0) }),
      let assertion = request.fields[AttestFields.assertion].flatMap({ Base64.decode($0) })
    else { return attested(problem(401, .attestationRequired)) }
    guard open.removeValue(forKey: text) == purpose else { return attested(problem(401, .challengeUsed)) }
    if !refusals.isEmpty {
      let refusal = refusals.removeFirst()
      return attested(problem(refusal.status, refusal.code))
    }
    guard known.contains(keyID) else { return attested(problem(401, .unknownKey)) }
    let parts = (
      SHA256.hash(request.fields["authorization"] ?? ""),
      SHA256.hash(try await request.body.collect(upTo: 1 << 20))
    )
    let signed =
      purpose == .token
      ? SignedBytes.tokenExchange(
        audience: Self.audience, challenge: challenge, method: request.method.rawValue, target: target,
        authorizationHash: parts.0, bodyHash: parts.1)
      : SignedBytes.request(
        audience: Self.audience, challenge: challenge, method: request.method.rawValue, target: target,
        authorizationHash: parts.0, bodyHash: parts.1)
    return assertion == SHA256.hash(signed) ? nil : attested(problem(401, .badSignature))
  }

  private func attested(_ response: HTTPResponse) -> HTTPResponse {
    var response = response
    response.fields[AttestFields.nextChallenge] = issue(.request)
    return response
  }

  private func problem(_ status: Int, _ code: ErrorCode) -> HTTPResponse {
    let body: JSONValue = ["code": .string(code.rawValue), "message": "as told"]
    return HTTPResponse(
      status: status, fields: ["content-type": "application/problem+json"], body: HTTPBody(body.bytes))
  }
}
