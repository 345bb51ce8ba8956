import Admission
import AppAttest
import BramleyAPI
import BramleyTesting
import Encodings
import Gateway
import HTTPMessages
import SQL
import Stores
import Testing

@testable import Server

@Suite("Limits, as apps and operators meet them") struct LimitTests {
  private func quotas(_ response: HTTPResponse) async throws -> [QuotaState] {
    #expect(response.status == 200)
    return QuotaAnswer(body: try await response.body.collect(upTo: 4_000))?.quotas ?? []
  }

  private func question(_ phone: Phone, bearer: String? = nil) async throws -> HTTPRequest {
    var request = HTTPRequest(method: .get, target: FunctionQuotaRoute.template, peer: "192.0.2.1")
    if let bearer { request.fields["authorization"] = "Bearer " + bearer }
    return try await phone.sign(request)
  }

  @Test("RULES §1.10: a new key's first day has an allowance of its own, and each new key its own")
  func newcomer() async throws {
    let server = try await WholeServer {
      $0.quotas = [.init(name: "daily", subject: .key, limit: 100)]
      $0.newcomer.requests = 2
    }
    let phone = try await server.phone()
    for _ in 0..<2 { #expect(try await phone.ask().status == 200) }
    let refused = try await phone.ask()
    #expect(refused.fields["ratelimit"]?.contains("\"newcomer\";r=0") == true)
    #expect(try await Outcome(refused) == Outcome(429, "quota_exceeded"))
    #expect(try await server.phone().ask().status == 200)
    server.clock.advance(seconds: 86_401)
    for _ in 0..<5 { #expect(try await phone.ask().status == 200) }
  }

  @Test(
    "RULES §1.10: until the risk is known, and while it is high, a newcomer's allowance holds; it refuses nobody by itself"
  )
  func risk() async throws {
    let server = try await WholeServer {
      $0.newcomer.requests = 1
      $0.newcomer.hours = 0
      $0.newcomer.untilRiskKnown = true
      $0.newcomer.riskAbove = 5
    }
    let phone = try await server.phone()
    server.clock.advance(seconds: 1)
    #expect(try await phone.ask().status == 200)
    #expect(try await phone.ask().status == 429)
    for (metric, status) in [(3, 200), (6, 429), (5, 200)] {
      try await server.database.write {
        _ = try await $0.execute("update device_keys set risk_metric = $1", [.integer(Int64(metric))])
      }
      #expect(try await phone.ask().status == status, "\(metric)")
    }
    // Even the highest metric leaves the newcomer's allowance.
    server.clock.advance(seconds: 86_400)
    try await server.database.write {
      _ = try await $0.execute("update device_keys set risk_metric = 999", [])
    }
    #expect(try await phone.ask().status == 200)
    #expect(try await phone.ask().status == 429)
  }

  @Test("a new key's money, and that of a device which DeviceCheck knows")
  func newcomerMoney() async throws {
    let server = try await WholeServer {
      $0.newcomer.money = 1
      $0.newcomer.hours = 1
      $0.newcomer.knownDevice = true
    }
    let phone = try await server.phone()
    #expect(try await Outcome(phone.ask()) == Outcome(429, "budget_exceeded"))
    server.clock.advance(seconds: 3_601)
    #expect(try await phone.ask().status == 200)
    try await server.database.write {
      _ = try await $0.execute("update device_keys set known_device = 1", [])
    }
    #expect(try await Outcome(phone.ask()) == Outcome(429, "budget_exceeded"))
  }

  @Test("registrations of new keys are bounded a day, by address and by app; a repeated one costs nothing")
  func registrations() async throws {
    let server = try await WholeServer {
      $0.attest.registrationsPerDay = 3
      $0.attest.appRegistrationsPerDay = 5
    }
    let first = try await Phone(server).registration()
    for status in [201, 200, 200, 200, 200] { #expect(try await server.send(first).status == status) }
    for _ in 0..<2 { #expect(try await Phone(server).register().status == 201) }
    let refused = try await Phone(server).register()
    #expect(refused.fields["retry-after"] == "43200")
    #expect(try await Outcome(refused) == Outcome(429, "quota_exceeded"))
    for number in 1...3 {
      var request = try await Phone(server).registration()
      request.peer = "198.51.100.\(number)"
      #expect(try await server.send(request).status == (number < 3 ? 201 : 429))
    }
    server.clock.advance(seconds: 43_200)
    #expect(try await Phone(server).register().status == 201)
  }

  @Test(
    "RULES §1.10: reinstalling refills nothing that user, address or app bound",
    arguments: [
      Configuration.QuotaRule.Scope.user, .address, .app, .everyone,
    ])
  func reinstalling(scope: Configuration.QuotaRule.Scope) async throws {
    let server = try await AccountServer {
      $0.quotas = [
        .init(name: "daily", subject: .key, limit: 100), .init(name: "bound", subject: scope, limit: 4),
      ]
    }
    let user = try await server.signUp()
    var admitted = 0
    for _ in 0..<8 {
      // The app is installed again: a new key, and the session from the keychain.
      let phone = try await server.whole.phone()
      var request = Phone.question()
      request.fields["authorization"] = "Bearer " + user.accessToken
      if try await server.whole.send(try await phone.sign(request)).status == 200 { admitted += 1 }
    }
    #expect(admitted == 4)
  }

  @Test("two accounts on one phone: the key's count holds for both together")
  func twoAccounts() async throws {
    let server = try await AccountServer {
      $0.quotas = [
        .init(name: "daily", subject: .key, limit: 5), .init(name: "mine", subject: .user, limit: 4),
      ]
    }
    let phone = try await server.whole.phone()
    let users = [try await server.signUp(), try await server.signUp()]
    var admitted = 0
    for turn in 0..<12 {
      var request = Phone.question()
      request.fields["authorization"] = "Bearer " + users[turn % 2].accessToken
      if try await server.whole.send(try await phone.sign(request)).status == 200 { admitted += 1 }
    }
    #expect(admitted == 5)
  }

  @Test("tokens are held at the bound, settled at what was used, and told to the app")
  func tokens() async throws {
    let server = try await WholeServer {
      $0.quotas = [.init(name: "tokens", subject: .key, limit: 1_000, unit: .tokens)]
    }
    let phone = try await server.phone()
    let first = try await phone.ask("[simulate: usage 100 30]")
    #expect(first.status == 200 && first.fields["ratelimit"] == nil, "RateLimit tells requests alone")
    _ = try await first.text
    await server.background.drain()
    let left = try await quotas(server.send(try await question(phone)))
    #expect(
      left == [
        QuotaState(
          name: "tokens", limit: 1_000, remaining: 870, resetsAt: server.clock.seconds + 43_200,
          unit: "tokens")
      ])
    var outcome = Outcome(200)
    for _ in 0..<20 where outcome.status == 200 {
      outcome = try await Outcome(phone.ask("[simulate: usage 100 30]"))
    }
    #expect(outcome == Outcome(429, "quota_exceeded"))
    let used = try await server.usage().reduce(0) { $0 + $1.inputTokens + $1.outputTokens }
    #expect(used == 780, "six calls of 130, and what is left is less than the seventh's bound")
  }

  @Test("windows of a minute, an hour, a month and a lifetime end when they say")
  func windows() async throws {
    let server = try await WholeServer {
      $0.quotas = [
        .init(name: "minute", subject: .key, limit: 2, window: .minute),
        .init(name: "hour", subject: .key, limit: 3, window: .hour),
        .init(name: "month", subject: .key, limit: 5, window: .month),
        .init(name: "ever", subject: .key, limit: 6, window: .lifetime),
      ]
    }
    // The beginning of an hour.
    server.clock.set(seconds: server.clock.seconds / 3_600 * 3_600)
    let phone = try await server.phone()
    for _ in 0..<2 { #expect(try await phone.ask().status == 200) }
    let minute = try await phone.ask()
    #expect(minute.fields["retry-after"] == "60")
    #expect(minute.fields["ratelimit-policy"]?.contains("\"minute\";q=2;w=60") == true)
    server.clock.advance(seconds: 60)
    let third = try await phone.ask()
    #expect(third.fields["ratelimit"]?.contains("\"ever\";r=3") == true)
    #expect(third.fields["ratelimit"]?.contains("\"ever\";r=3;t") == false, "it never ends")
    #expect(third.fields["ratelimit-policy"]?.contains("\"hour\";q=3;w=3600") == true)
    #expect(try await phone.ask().fields["retry-after"] == "3540")
    server.clock.advance(seconds: 3_540)
    for _ in 0..<2 { #expect(try await phone.ask().status == 200) }
    let month = try await phone.ask()
    // Of minute and month, both used up, the month lasts longer.
    #expect(month.fields["retry-after"] == "39600", "it is the month's last day, in the afternoon")
    #expect(try await month.text.contains("\\\"month\\\""))
    server.clock.advance(seconds: 31 * 86_400)
    #expect(try await phone.ask().status == 200)
    let never = try await phone.ask()
    #expect(never.status == 429 && never.fields["retry-after"] == nil)
    #expect(never.fields["x-should-retry"] == "false")
    let left = try await quotas(server.send(try await question(phone)))
    #expect(
      left.first { $0.name == "ever" } == QuotaState(name: "ever", limit: 6, remaining: 0, resetsAt: nil))
  }

  @Test("who asks what is left: a device, its session token, a user alone; nobody without any proof")
  func asking() async throws {
    let server = try await AccountServer {
      $0.quotas = [
        .init(name: "daily", subject: .key, limit: 5), .init(name: "mine", subject: .user, limit: 9),
        .init(name: "all", subject: .everyone, limit: 50),
      ]
    }
    let whole = server.whole
    let phone = try await whole.phone()
    let user = try await server.signUp()
    func left(_ request: HTTPRequest) async throws -> [String] {
      try await quotas(whole.send(request)).map { "\($0.name) \($0.remaining)" }
    }
    #expect(try await left(question(phone)) == ["daily 5"])
    #expect(try await left(question(phone, bearer: user.accessToken)) == ["daily 5", "mine 9"])
    var call = Phone.question()
    call.fields["authorization"] = "Bearer " + user.accessToken
    #expect(try await whole.send(try await phone.sign(call)).status == 200)
    #expect(try await left(question(phone)) == ["daily 4", "mine 8"])
    var bare = HTTPRequest(method: .get, target: FunctionQuotaRoute.template, peer: "192.0.2.1")
    #expect(try await Outcome(whole.send(bare)) == Outcome(401, "attestation_required"))
    bare.fields["authorization"] = "Bearer " + user.accessToken
    #expect(try await left(bare) == ["mine 8"])
    let bought = try await phone.token().json
    bare.fields["authorization"] = "Bearer " + (try #require(bought["token"]?.string))
    #expect(try await left(bare) == ["daily 4", "mine 8"])
    _ = try await server.ask(.post, "/logout", bearer: user.accessToken)
    bare.fields["authorization"] = "Bearer " + user.accessToken
    #expect(try await whole.send(bare).status >= 400)
  }

  @Test("a budget's shares are told once, in the log and as a metric")
  func alarms() async throws {
    let server = try await WholeServer {
      $0.quotas = []
      $0.budgets = [
        .init(name: "total", subject: .everyone, limit: 10_000_000_000),
        .init(name: "each", subject: .key, limit: 10_000_000_000),
      ]
    }
    let phone = try await server.phone()
    let job = try #require(server.server.jobs.first { $0.name == "tell_alarms" })
    var last = 200
    for _ in 0..<40 where last == 200 {
      // 1,000 tokens in and 100 out of claude-haiku-4-5: 1.5 m$.
      last = try await phone.ask("[simulate: usage 1000 100]").status
      await server.background.drain()
      _ = await job.run()
    }
    #expect(last == 429)
    let told = server.lines.values.filter { $0.contains("limit_reached") }
    #expect(told.count == 3)
    for (line, percent) in zip(told, [50, 80, 100]) {
      #expect(line.contains("\"percent\":\(percent)") && line.contains("\"rule\":\"total\""), "\(line)")
    }
  }

  @Test("a rule for one provider or function leaves the others alone")
  func scoped() async throws {
    let server = try await WholeServer {
      $0.quotas = [
        .init(name: "theirs", subject: .key, limit: 0, provider: "openai"),
        .init(name: "its", subject: .key, limit: 0, function: "another"),
        .init(name: "ours", subject: .key, limit: 1, provider: "anthropic"),
      ]
    }
    let phone = try await server.phone()
    #expect(try await phone.ask().status == 200)
    let refused = try await phone.ask()
    #expect(try await refused.text.contains("\\\"ours\\\""))
  }
}
