import BramleyAPI
import HTTPMessages

extension BramleyClient {
  /// A challenge for a request, from the pool or fetched with some for later.
  func takeChallenge() async throws -> SignableChallenge {
    while true {
      if let challenge = pool.take(now: now()) { return challenge }
      waitingForChallenge += 1
      defer { waitingForChallenge -= 1 }
      try await fetching.run { try await self.fillPool() }
    }
  }

  private func fillPool() async throws {
    let count = min(16, max(options.prefetch, waitingForChallenge, 1))
    let issued = try await fetch(.request, count: count)
    var added = 0
    for challenge in issued where pool.add(challenge, now: now()) { added += 1 }
    if added == 0 { throw BramleyError(.challengeRefused) }
  }

  /// One challenge for a purpose other than a request, and until when to use it.
  func fetchChallenge(
    _ purpose: ChallengePurpose
  ) async throws -> (challenge: SignableChallenge, until: Int64) {
    guard let issued = try await fetch(purpose, count: 1).first,
      let challenge = SignableChallenge(issued.text)
    else { throw BramleyError(.challengeRefused) }
    return (challenge, ChallengePool.until(issued.expiresAt, now: now()))
  }

  private func fetch(_ purpose: ChallengePurpose, count: Int) async throws -> [IssuedChallenge] {
    var query = "?count=\(count)"
    if purpose != .request { query += "&purpose=\(purpose.rawValue)" }
    let response = try await sendPlain(HTTPRequest(method: .get, target: AttestTargets.challenge + query))
    guard response.status == 200 else {
      throw BramleyError(response, body: await response.errorBody())
    }
    guard let answer = ChallengeAnswer(body: await response.errorBody()) else {
      throw BramleyError(.unrecognizedAnswer, status: response.status)
    }
    return answer.challenges
  }
}
