import Accounts
import AppAttest
import BramleyAPI

/// What an operator watches, in Prometheus text (exposition format 0.0.4) at `/metrics`.
package final class Metrics: Sendable {
  /// What calls an operator, by name: each is also a line of the log at level error.
  package enum Alarm {
    /// The database did not answer: requests are refused.
    static let storage = "storage"
    /// A settlement could not be written; it is tried again, and at last the sweep books the whole hold.
    static let settlement = "settlement"
    /// Apple refuses the key, or a client, of the operator's.
    static let appleConfiguration = "apple_configuration"
    /// Apple told of a deleted Apple account, and still honours its refresh token, or the operator is to look at it.
    static let appleDeletion = "apple_deletion"
    /// An event was given up, or its endpoint wants no more.
    static let events = "events"
    /// A hook gave no answer, or none that can be used.
    static let hooks = "hooks"
    /// So much of a limit that is watched is used up.
    static let limit = "limit_reached"
    /// An account cannot be deleted, since a table of the app's refuses, or a consent at Apple was given up.
    static let deletion = "deletion"
    /// These, and those of ``ProxyAlarm``.
    static let names = [
      storage, settlement, appleConfiguration, appleDeletion, limit, events, hooks, deletion,
      "operator_fault",
      "cost_above_reserve",
      "secret_in_answer",
      "encoded_answer",
      "redirected", "unexpected_content", "usage_unreadable",
    ]
  }

  /// Answers by status.
  package let statuses = CounterFamily(
    label: "status",
    values: [
      200, 201, 202, 204, 302, 303, 400, 401, 403, 404, 405, 413, 415, 422, 429, 500, 502, 503, 504, 529,
    ].map { String($0) })
  /// Answers by route template.
  package let routes: CounterFamily
  /// Error answers by code.
  package let errors = CounterFamily(label: "code", values: ErrorCode.known.map(\.rawValue))
  package let alarms = CounterFamily(label: "alarm", values: Alarm.names)
  /// From the first octet of the request to the head of the answer.
  package let heads = Histogram()
  /// Answers that are being streamed.
  package let streams = Gauge()
  /// Requests whose counter came later than a higher one.
  package let outOfOrder = Counter()
  /// Money that was settled, in micro-dollars, rounded down a call.
  package let microDollars = Counter()
  /// The same by provider.
  package let providerCosts = CounterFamily(label: "provider", values: providerNames)
  /// Calls that went on to another provider, by the one that failed.
  package let fallbacks = CounterFamily(label: "provider", values: providerNames)
  package let inputTokens = Counter()
  package let outputTokens = Counter()
  package let debugTokenUses = Counter()
  /// Refresh tokens that came when they were long replaced.
  package let refreshReuses = Counter()
  /// What came of Apple's events, and of the requests that brought them.
  package let appleEvents = CounterFamily(
    label: "outcome",
    values: ["received", "duplicate", "refused"] + AppleEventOutcome.allCases.map(\.rawValue))
  /// What came of attempts to send an event.
  package let events = CounterFamily(label: "outcome", values: ["delivered", "failed", "dead"])
  /// What came of deletions of accounts.
  package let deletions = CounterFamily(
    label: "outcome", values: ["begun", "blocked", "deleted", "kept", "postponed", "unusable"])
  /// Calls that were handed to a provider's queue, and how they ended: with what it billed, at the reserve or an
  /// estimate, or with nothing.
  package let queuedCalls = CounterFamily(
    label: "outcome", values: ["submitted", "billed", "estimated", "released"])
  /// What came of asking Apple for new receipts.
  package let receipts = CounterFamily(
    label: "outcome", values: ["refreshed", "replaced"] + ReceiptRefusal.names)
  /// What came of asking DeviceCheck about devices that register.
  package let deviceChecks = CounterFamily(label: "outcome", values: DeviceCheckOutcome.names)
  /// Reservations that the sweep had to settle.
  package let swept = Counter()

  private static let providerNames = [
    Configuration.Anthropic.name, Configuration.OpenAI.name, Configuration.Fal.name,
  ]

  private let droppedLogLines: @Sendable () -> Int

  /// Counts money that was settled, in pico-dollars.
  func settled(_ cost: Int64, provider: String) {
    let micros = Int(clamping: cost / 1_000_000)
    microDollars.add(micros)
    providerCosts[provider].add(micros)
  }

  package init(routes: some Sequence<String>, droppedLogLines: @escaping @Sendable () -> Int = { 0 }) {
    self.droppedLogLines = droppedLogLines
    self.routes = CounterFamily(label: "route", values: routes)
  }

  /// The whole in Prometheus text.
  package var text: String {
    var out = ""
    func family(_ name: String, _ help: String, _ family: CounterFamily) {
      out += "# HELP \(name) \(help)\n# TYPE \(name) counter\n"
      for (value, count) in family.samples { out += "\(name){\(family.label)=\"\(value)\"} \(count)\n" }
    }
    func single(_ name: String, _ help: String, _ value: Int, type: String = "counter") {
      out += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n\(name) \(value)\n"
    }
    family("bramley_responses_total", "Answers by status.", statuses)
    family("bramley_route_responses_total", "Answers by route.", routes)
    family("bramley_errors_total", "Error answers by code.", errors)
    family("bramley_alarms_total", "What needs the operator.", alarms)
    family("bramley_apple_events_total", "Apple's notifications and what came of them.", appleEvents)
    family("bramley_events_total", "Attempts to send an event.", events)
    family("bramley_deletions_total", "Deletions of accounts and what came of them.", deletions)
    family("bramley_queued_calls_total", "Calls of providers' queues by what became of them.", queuedCalls)
    family("bramley_receipt_exchanges_total", "Exchanges of App Attest receipts at Apple.", receipts)
    family("bramley_device_checks_total", "Registrations that asked DeviceCheck.", deviceChecks)
    single("bramley_streams", "Answers being streamed.", streams.value, type: "gauge")
    single("bramley_counter_out_of_order_total", "Assertions that overtook each other.", outOfOrder.value)
    single("bramley_cost_microdollars_total", "Money settled.", microDollars.value)
    family(
      "bramley_provider_cost_microdollars_total", "Money settled, by who is paid.", providerCosts)
    family(
      "bramley_fallbacks_total", "Calls that went on to another provider, by the one that failed.", fallbacks)
    single("bramley_input_tokens_total", "Input tokens settled.", inputTokens.value)
    single("bramley_output_tokens_total", "Output tokens settled.", outputTokens.value)
    single("bramley_debug_token_uses_total", "Requests let in by a debug token.", debugTokenUses.value)
    single("bramley_refresh_reuses_total", "Refresh tokens used when long replaced.", refreshReuses.value)
    single("bramley_swept_reservations_total", "Reservations settled by the sweep.", swept.value)
    single("bramley_log_lines_dropped_total", "Lines of the log that nobody read in time.", droppedLogLines())
    let name = "bramley_head_seconds"
    out += "# HELP \(name) Time to the head of the answer.\n# TYPE \(name) histogram\n"
    let samples = heads.samples
    for (bound, count) in zip(Histogram.bounds, samples.cumulative) {
      out += "\(name)_bucket{le=\"\(Double(bound) / 1_000_000)\"} \(count)\n"
    }
    let count = samples.cumulative.last ?? 0
    out += "\(name)_bucket{le=\"+Inf\"} \(count)\n"
    out += "\(name)_sum \(Double(samples.sum) / 1_000_000)\n\(name)_count \(count)\n"
    return out
  }
}
