import Admission
package import AppAttest
import Gateway

/// Everything an operator decides, checked. Built from `bramley.jsonc` and `BRAMLEY_…` variables by
/// ``Configuration/read(_:)``; docs/configuration.md describes every key.
package struct Configuration: Sendable, Equatable {
  /// Where the server runs. Production refuses what only a development machine may trust.
  package enum Deployment: String, Sendable, CaseIterable {
    case production
    case development
  }

  /// How much the log tells.
  package enum LogLevel: String, Sendable, CaseIterable {
    case debug
    case info
    case error
  }

  /// `environment`.
  package var deployment = Deployment.development
  /// `listen`: where the public listener is bound.
  package var listen = ListenAddress(host: "127.0.0.1", port: 8080)
  /// `admin.listen`: the listener of /admin and /metrics (RULES §6.1).
  package var adminListen = ListenAddress(host: "127.0.0.1", port: 9090)
  /// `data`: the directory of the database and of made keys.
  package var data = "bramley-data"
  /// `database.url`: the PostgreSQL server; nil for SQLite in `data`.
  package var databaseURL: Secret?
  /// `database.connections`: how many a node opens for transactions; its ledger has one more.
  package var databaseConnections = 8
  /// `database.statement_timeout`: the longest that a statement may run, seconds; a lock is waited for half as
  /// long.
  package var databaseStatementTimeout: Int64 = 10
  /// `trusted_proxies`: peers whose X-Forwarded-For is believed.
  package var trustedProxies: [AddressBlock] = []
  /// `outside.allowed_addresses`: where webhooks, hooks and fetched files may be although the address is not public
  /// (RULES §6.3).
  package var allowedAddresses: [AddressBlock] = []
  /// `time_zone`: whose midnight ends a day's quota.
  package var timeZone = "UTC"
  /// `attest`.
  package var attest = Attest()
  /// `auth`; nil when the section is absent, and then there are no accounts.
  package var auth: Auth?
  /// `providers.anthropic`; nil when the section is absent.
  package var anthropic: Anthropic?
  /// `providers.openai`; nil when the section is absent.
  package var openAI: OpenAI?
  /// `providers.fal`; nil when the section is absent.
  package var fal: Fal?
  /// `storage`.
  package var storage = Storage()
  /// `functions`.
  package var functions: [Function] = []
  /// `quotas`: counts.
  package var quotas = [QuotaRule(name: "daily", subject: .key, limit: 100)]
  /// `burst`.
  package var burst = Burst(requests: 10, seconds: 60)
  /// `in_flight`: how many requests of one key may run at once.
  package var inFlight: Int64 = 3
  /// `ipv6_site_factor`: how many times an address's limit all of an IPv6 /48 has (RULES §5.1).
  package var ipv6SiteFactor: Int64 = 16
  /// `budgets`: money; the limits are pico-dollars.
  package var budgets = [
    QuotaRule(name: "key-budget", subject: .key, limit: 1_000_000_000_000, unit: .money),
    QuotaRule(name: "total-budget", subject: .everyone, limit: 20_000_000_000_000, unit: .money),
  ]
  /// `usage.retention_days`: how long the rows of single calls are kept.
  package var usageRetentionDays: Int64 = 400
  /// `audit.retention_days`: how long lines of the audit log are kept.
  package var auditRetentionDays: Int64 = 400
  /// `newcomer`.
  package var newcomer = Newcomer()
  /// `debug_tokens`.
  package var debugTokens = DebugTokens()
  /// `cors.origins`.
  package var corsOrigins: [String] = []
  /// Whether pages of this machine may ask from any port, as in `dev`.
  package var corsAllowsLoopback = false
  /// `events.endpoints`: where outgoing events go.
  package var eventEndpoints: [EventEndpoint] = []
  /// `events.retention_days`: how long delivered events and those that were given up are kept.
  package var eventRetentionDays: Int64 = 30
  /// `hooks`.
  package var hooks = Hooks()
  /// `log.level`.
  package var logLevel = LogLevel.info

  package init() {}
}

extension Configuration {
  /// What is demanded of devices.
  package struct Attest: Sendable, Equatable {
    /// An app that may ask.
    package struct App: Sendable, Equatable {
      /// App ID prefix, a dot and the bundle id.
      package var appID: String
      /// In which environments its keys are accepted.
      package var environments: Set<AttestEnvironment>
      /// The client id by which the app speaks Anthropic's flow (RULES §1.11); nil: it does not.
      package var clientID: String?

      package init(appID: String, environments: Set<AttestEnvironment>, clientID: String? = nil) {
        self.appID = appID
        self.environments = environments
        self.clientID = clientID
      }
    }

    /// A trust anchor of a simulator, of attestations and receipts; never beside `environment: production`
    /// (RULES §1.6).
    package struct SimulatorRoot: Sendable, Equatable {
      /// The certificate in DER.
      package var certificate: [UInt8]

      package init(certificate: [UInt8]) { self.certificate = certificate }
    }

    /// Base URLs that clients are configured with (RULES §1.2).
    package var audiences: [String] = ["http://127.0.0.1:8080"]
    package var apps: [App] = []
    /// RULES §1.5; 0 is strict.
    package var counterWindow = 128
    package var simulatorRoot: SimulatorRoot?
    /// nil: Apple is asked nothing about devices.
    package var appleKey: AppleKey?
    package var receipts = Receipts()
    /// Whether registrations ask DeviceCheck about the device, where the app sends a token.
    package var deviceCheck = false
    /// How old an attestation's receipt may be at registration, seconds.
    package var receiptMaximumAge: Int64 = 300
    /// How long a session token lives, seconds, 600 at most (RULES §1.8).
    package var sessionLifetime: Int64 = 600
    /// Challenges an address may fetch a minute; wide, since many phones share a carrier's address.
    package var challengesPerMinute: Int64 = 1200
    /// Registrations an address may ask for an hour.
    package var registrationsPerHour: Int64 = 600
    /// Registrations of new keys that an address, and that all of one app, may make a day; nil does not bound them.
    package var registrationsPerDay: Int64? = 2000
    package var appRegistrationsPerDay: Int64?
    /// Validation categories that are accepted where a build says one; empty accepts all.
    package var validationCategories: Set<UInt32> = []
    /// Whether a build that says no category (before OS 27) is accepted.
    package var categoryRequired = false

    package init() {}
  }

  /// So many requests at once, refilled evenly over so many seconds.
  package struct Burst: Sendable, Equatable {
    package var requests: Int64
    package var seconds: Int64

    package init(requests: Int64, seconds: Int64) {
      self.requests = requests
      self.seconds = seconds
    }
  }

  /// What a new key may use a day, beside what every key may; nil bounds no more.
  package struct Newcomer: Sendable, Equatable {
    package var requests: Int64?
    /// Pico-dollars.
    package var money: Int64?
    /// How long after its registration a key is new, hours.
    package var hours: Int64 = 24
    /// Whether a key is new for as long as the risk metric of its receipt is not known; nil: where Apple is asked
    /// for it.
    package var untilRiskKnown: Bool?
    /// Above which risk metric a key counts as new.
    package var riskAbove: Int64?
    /// Whether a key counts as new whose device had registered before, as DeviceCheck says.
    package var knownDevice = false

    package init() {}
  }

  /// Tokens for simulators.
  package struct DebugTokens: Sendable, Equatable {
    /// Names that count in production; outside of it every live token counts.
    package var allowed: [String] = []
    /// Requests a token may make a day.
    package var daily: Int64 = 20

    package init() {}
  }
}

/// A value that no log, error or description shows.
package struct Secret: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible,
  CustomReflectable
{
  /// The value itself.
  package let value: String

  package init(_ value: String) { self.value = value }

  package var description: String { "[secret]" }
  package var debugDescription: String { description }
  package var customMirror: Mirror { Mirror(self, children: []) }
}

/// Where a listener is bound.
package struct ListenAddress: Sendable, Equatable, CustomStringConvertible {
  package var host: String
  package var port: UInt16

  package init(host: String, port: UInt16) {
    self.host = host
    self.port = port
  }

  /// `127.0.0.1:8080`, `[::1]:8080` or `localhost:8080`; nil for anything else.
  package init?(_ text: String) {
    guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]),
      text[text.index(after: colon)...].utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 })
    else { return nil }
    var host = text[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") {
      host = host.dropFirst().dropLast()
      guard host.contains(":") else { return nil }
    } else if host.contains(":") {
      return nil
    }
    guard host == "localhost" || IPAddress(String(host)) != nil else { return nil }
    self.init(host: String(host), port: port)
  }

  package var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

  /// Whether only this machine reaches it.
  package var isLoopback: Bool { host == "localhost" || IPAddress(host)?.isLoopback == true }
}
