import Accounts
import BramleyAPI
import Encodings

/// Whom accounts ask before they act. Asked outside of every transaction; what they were asked about is looked at once
/// more when it is done (RULES §3.9).
struct AccountHooks: Sendable {
  private let beforeUserCreated: HookClient?
  private let customAccessToken: HookClient?
  private let environment: Environment

  init(_ environment: Environment, metrics: Metrics, log: ApplicationLog) {
    self.environment = environment
    func client(_ name: String, _ target: WebhookTarget?) -> HookClient? {
      target.map { HookClient(name, $0, environment, metrics: metrics, log: log) }
    }
    let hooks = environment.configuration.hooks
    beforeUserCreated = client("before_user_created", hooks.beforeUserCreated)
    customAccessToken = client("custom_access_token", hooks.customAccessToken)
  }

  /// Whether anybody is asked before a user is made.
  var concernsNewcomers: Bool { beforeUserCreated != nil }
  /// Whether anybody is asked before a token is signed.
  var concernsTokens: Bool { customAccessToken != nil }

  /// Throws where the hook refuses the user, who is not in the database.
  func judge(_ user: User, address: String?) async throws {
    guard let beforeUserCreated else { return }
    let id = try identifier()
    let payload: JSONValue = [
      "metadata": [
        "uuid": .string(id.description), "time": .time(environment.now()), "name": "before-user-created",
        "ip_address": .string(IPAddress.text(ofCountingName: address ?? "")),
      ],
      "user": user.json,
    ]
    do {
      _ = try await beforeUserCreated.ask(payload, id: id)
    } catch let refusal as HookClient.Refusal {
      throw Failure(refusal.status, .hookRefused, refusal.message)
    }
  }

  /// The claims with what the hook made of them.
  ///
  /// - Parameter method: how the user came: `oauth`, `anonymous` or `token_refresh`.
  func customized(_ claims: AccessTokenClaims, method: String) async throws -> CustomClaims {
    let own = claims.json
    guard let customAccessToken else { return CustomClaims(of: claims, json: own) }
    let payload: JSONValue = [
      "user_id": .string(claims.user.id.description), "claims": own,
      "authentication_method": .string(method),
    ]
    do {
      let answer = try await customAccessToken.ask(payload, id: try identifier())
      guard let given = answer["claims"], given.members != nil else {
        throw customAccessToken.failure("answer without claims")
      }
      let json = AccessTokenClaims.merged(own, given.value)
      guard AccessTokenClaims.fits(json) else {
        _ = customAccessToken.failure("claims too large")
        throw HookClient.Refusal(status: 422, message: Failure.tokenTooLarge.message)
      }
      return CustomClaims(of: claims, json: json)
    } catch let refusal as HookClient.Refusal {
      // On a refresh clients throw the session away upon a 4xx: there the hook has failed, whatever it says.
      if method == "token_refresh" { throw customAccessToken.failure("refused with \(refusal.status)") }
      throw Failure(
        refusal.status, refusal.status == 422 ? .validationFailed : .hookRefused, refusal.message)
    }
  }

  private func identifier() throws(Failure) -> UUID {
    guard let id = UUID(random: environment.random(16)) else {
      throw Failure(500, .internalError, "The server made a mistake.", diagnosis: "random octets")
    }
    return id
  }
}

/// What a token is to say, and of which facts that was made.
struct CustomClaims: Sendable {
  let claims: AccessTokenClaims
  let json: JSONValue

  init(of claims: AccessTokenClaims, json: JSONValue) {
    self.claims = claims
    self.json = json
  }
}
