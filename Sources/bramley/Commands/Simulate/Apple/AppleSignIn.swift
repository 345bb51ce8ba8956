import BramleyAPI
import Encodings
import HTTPMessages

/// `bramley simulate apple sign-in`
struct AppleSignIn: Command {
  static let syntax = CommandSyntax(
    words: ["simulate", "apple", "sign-in"],
    summary: "Sign in with a simulated Apple Account on a simulated phone.",
    options: [
      .init(
        name: "account", value: "EMAIL",
        summary: "whose; made where there is none",
        fallback: defaultAccount),
      .init(name: "client", value: "ID", summary: "the app's bundle id", fallback: StoredAppleID.app),
      .init(
        name: "link", value: nil, summary: "keep the phone's account and link the identity to it"),
      .init(name: "hide-email", value: nil, summary: "give a relay address"),
      .init(name: "json", value: nil, summary: "print the server's answer as it came"),
    ] + SimulatedPhone.options(device: defaultDevice),
    discussion: """
      Against `bramley dev`, which carries the simulated Apple. The phone asks the server for a challenge,
      the sheet signs an identity token with it, and the server is given both with the authorization
      code. With --link a phone without a session signs up anonymously first. The session is kept
      beside the phone. An account `tim` is one at example.com.
      """)

  static let defaultDevice = "phone"
  static let defaultAccount = "ada@example.com"

  private let arguments: ParsedArguments
  private let account: String
  private let client: String
  private let links: Bool

  init(_ arguments: ParsedArguments) throws(UsageError) {
    self.arguments = arguments
    account = Self.account(arguments)
    client = arguments.value("client") ?? StoredAppleID.app
    links = arguments.flag("link")
  }

  /// Whose account is meant.
  static func account(_ arguments: ParsedArguments) -> String {
    let name = arguments.value("account") ?? defaultAccount
    return name.contains("@") ? name : name + "@example.com"
  }

  func run(_ console: Console) async throws -> ExitCode {
    let phone = try SimulatedPhone(arguments, device: Self.defaultDevice)
    let answer = try await phone.reaching {
      let bearer = links ? try await current(phone) : nil
      let sheet = try await authorize(phone, bearer: bearer)
      return try await AccountCall.token(
        phone, grant: "id_token", body(sheet.granted, challenge: sheet.challenge), bearer: bearer)
    }
    try phone.session.keep(answer.value.bytes)
    if arguments.flag("json") {
      console.print(answer.value.text)
    } else {
      for line in Self.summary(answer) { console.print(line) }
    }
    return .success
  }

  /// A live access token of the phone's own session; of a fresh anonymous one, where it has none.
  private func current(_ phone: SimulatedPhone) async throws -> String {
    let session: JSONNode
    if let refresh = phone.session.refreshToken {
      session = try await AccountCall.token(
        phone, grant: "refresh_token", [("refresh_token", .string(refresh))], bearer: nil)
    } else {
      session = try await AccountCall.post(phone, AccountTargets.signUp, [])
    }
    try phone.session.keep(session.value.bytes)
    guard let token = session["access_token"]?.string else {
      throw CommandFailure(message: "the server answered no session")
    }
    return token
  }

  /// The challenge, and what the sheet gives for it.
  private func authorize(
    _ phone: SimulatedPhone, bearer: String?
  ) async throws -> (challenge: String, granted: JSONNode) {
    let challenge = try await AccountCall.plain(
      phone, AccountTargets.appleChallenge,
      ["purpose": links ? "link" : "sign_in", "client_id": .string(client)], bearer: bearer)
    guard let value = challenge["challenge"]?.string, let nonce = challenge["nonce"]?.string else {
      throw CommandFailure(message: "the server answered no challenge")
    }
    try await makeAccount(phone)
    let granted = try await AccountCall.plain(
      phone, StoredAppleID.path + "/simulator/sign-in",
      [
        "account": .string(account), "client_id": .string(client), "nonce": .string(nonce),
        "hide_email": .bool(arguments.flag("hide-email")),
      ])
    return (value, granted)
  }

  /// Makes the account where the simulated Apple has none of that address.
  private func makeAccount(_ phone: SimulatedPhone) async throws {
    let doors = StoredAppleID.path + "/simulator/accounts"
    let known = try await AccountCall.plain(phone, method: .get, doors)
    if known["accounts"]?.elements?.contains(where: { $0["email"]?.string == account }) == true { return }
    let name = account.prefix { $0 != "@" }
    _ = try await AccountCall.plain(
      phone, doors,
      [
        "email": .string(account), "first_name": .string(name.prefix(1).uppercased() + name.dropFirst()),
        "last_name": "Example",
      ])
  }

  private func body(_ granted: JSONNode, challenge: String) -> [(String, JSONValue)] {
    var members: [(String, JSONValue)] = [
      ("provider", "apple"), ("id_token", .string(granted["identity_token"]?.string ?? "")),
      ("nonce", .string(challenge)),
      ("authorization_code", .string(granted["authorization_code"]?.string ?? "")),
    ]
    if let user = granted["user"] { members.append(("user", user.value)) }
    if links { members.append(("link_identity", true)) }
    return members
  }

  /// Who it is, for a person.
  private static func summary(_ session: JSONNode) -> [String] {
    let user = session["user"]
    let identities = user?["identities"]?.elements ?? []
    return ["user      \(user?["id"]?.string ?? "?")"]
      + identities.map { identity in
        let email = identity["identity_data"]?["email"]?.string.map { " <\($0)>" } ?? ""
        return "identity  \(identity["provider"]?.string ?? "?") \(identity["id"]?.string ?? "?")\(email)"
      }
      + ["session   holds for \(session["expires_in"]?.integer ?? 0) seconds, and can be refreshed"]
  }
}
