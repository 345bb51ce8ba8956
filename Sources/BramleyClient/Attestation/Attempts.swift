import BramleyAPI
import Encodings
import HTTPMessages

extension BramleyClient {
  /// Signs and sends, again where that can help: once with a fresh challenge, and once with a new key where the
  /// server, asked twice, does not know ours, or the device has lost it. Nothing but a 401 that says so is
  /// sent again.
  func send(_ exchange: AttestedExchange, tag: AttestedExchange.Tag) async throws -> HTTPResponse {
    var key = try await keyID()
    var isRetried = false
    var isReplaced = false
    while true {
      let challenge = try await challenge(for: tag)
      let assertion: [UInt8]
      do {
        let bytes = exchange.signedBytes(tag, audience: audience, challenge: challenge)
        assertion = try await attestation.generateAssertion(
          key, clientDataHash: attestation.sha256(bytes))
      } catch AppAttestError.invalidKey where !isReplaced {
        isReplaced = true
        key = try await replaceKey(key)
        continue
      } catch {
        throw BramleyError(error)
      }
      var request = exchange.request
      request.fields[AttestFields.keyID] = key
      request.fields[AttestFields.assertion] = Base64.encode(assertion)
      request.fields[AttestFields.challenge] = challenge.text
      var response = try await sendPlain(request)
      guard response.status == 401 else { return response }
      let body = await response.errorBody()
      response.body = HTTPBody(body)
      let code = ErrorAnswer(body: body).code
      if !isRetried, code?.isMendedByFreshChallenge == true {
        isRetried = true
        forgetChallenges(but: response)
        continue
      }
      guard code == .unknownKey, !isReplaced else { return response }
      isReplaced = true
      do {
        key = try await replaceKey(key)
      } catch let error as BramleyError where error.code == .registrationCoolDown {
        return response
      }
    }
  }

  private func challenge(for tag: AttestedExchange.Tag) async throws -> SignableChallenge {
    switch tag {
    case .request: try await takeChallenge()
    case .tokenExchange: try await fetchChallenge(.token).challenge
    }
  }

  /// Those that were fetched with one that did not hold may not hold either; the refusal brought a fresh one.
  private func forgetChallenges(but response: HTTPResponse) {
    pool.clear()
    if let next = response.fields[AttestFields.nextChallenge] { pool.add(next: next, now: now()) }
  }
}

extension ErrorCode {
  /// Whether the same request may pass with a challenge that was just issued, and so with a new counter.
  fileprivate var isMendedByFreshChallenge: Bool {
    [.challengeExpired, .challengeInvalid, .challengeUsed, .counterReplayed, .unknownKey].contains(self)
  }
}
