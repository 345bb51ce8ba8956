import Accounts
import BramleyAPI
import Encodings
import HTTPMessages

/// `POST /auth/v1/switch/leaving` {`leaving`}: `keep` or `discard`, said of the anonymous user that a switch left behind
/// by the session that it opened (RULES §3.7). Who is never spoken of is kept.
struct LeavingRoute: Endpoint {
  let method = HTTPMethod.post
  let path = AccountTargets.leaving
  let service: AccountService

  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    let bearer = try await service.bearers.require(request, now: exchange.startedAt)
    let body = try await AccountBody(of: request)
    guard let word = try body.text("leaving").flatMap({ LeftBehind(rawValue: $0) }) else {
      throw Failure.validation("leaving is keep or discard")
    }
    let said = LeavingWord(
      session: bearer.session.id, word: word, owned: service.ports.owned.map(\.name),
      origin: exchange.origin(), now: service.environment.now())
    switch try await storage({ try await service.ports.store.leave(said) }) {
    case .failure(let refusal): throw Failure.refused(refusal)
    case .success(let deletion):
      if deletion?.isUnfinished == true { service.deletion.followUp() }
      return .json(["leaving": .string(word.rawValue)])
    }
  }
}
