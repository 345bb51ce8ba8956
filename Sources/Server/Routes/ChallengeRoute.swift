import AppAttest
import BramleyAPI
import Encodings
import HTTPMessages

/// `GET /attest/v1/challenge?count=n&purpose=p`: fresh challenges.
struct ChallengeRoute: Endpoint {
  let method = HTTPMethod.get
  let path = AttestTargets.challenge
  let challenges: ChallengeKeys
  let limiter: AddressLimiter
  let uptime: @Sendable () -> Int64

  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    let (count, purpose) = try Self.parameters(request.query)
    try await limiter.require(exchange.address, amount: Int64(count), now: uptime())
    var issued: [IssuedChallenge] = []
    for _ in 0..<count {
      let challenge = try await challenges.mint(purpose, now: exchange.startedAt)
      issued.append(IssuedChallenge(text: Base64.encodeURL(challenge.bytes), expiresAt: challenge.expiry))
    }
    return .json(ChallengeAnswer(challenges: issued).json)
  }

  private static func parameters(
    _ query: Substring?
  ) throws(Failure) -> (count: Int, purpose: AppAttest.ChallengePurpose) {
    var count: Int?
    var purpose: AppAttest.ChallengePurpose?
    for pair in (query ?? "").split(separator: "&") {
      let name = pair.prefix { $0 != "=" }
      let value = pair.dropFirst(name.count + 1)
      switch name {
      case "count" where count == nil:
        guard value.utf8.count <= 2, value.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }),
          let number = Int(value), (1...16).contains(number)
        else { throw .invalidRequest("count is a number from 1 to 16.") }
        count = number
      case "purpose" where purpose == nil:
        switch BramleyAPI.ChallengePurpose(rawValue: String(value)) {
        case .registration: purpose = .registration
        case .request: purpose = .request
        case .token: purpose = .tokenExchange
        case nil: throw .invalidRequest("purpose is registration, request or token.")
        }
      default: throw .invalidRequest("This route takes count and purpose, each once.")
      }
    }
    return (count ?? 1, purpose ?? .request)
  }
}
