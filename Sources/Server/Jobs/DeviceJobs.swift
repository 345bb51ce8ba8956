import Admission

/// What keeps current what Apple says of devices.
struct DeviceJobs: Sendable {
  let apple: AppleDevices
  let attest: Configuration.Attest
  let metrics: Metrics
  let log: ApplicationLog

  var all: [Job] {
    let refresher = ReceiptRefresher(apple, attest, metrics: metrics, log: log)
    return [
      // Often, since a new key's receipt is exchanged within a minute of its registration (RULES §1.10). One node's
      // at a time, so that the pace holds for all of them.
      .reporting("refresh_receipts", every: 15, log: log, metrics: metrics) { try await refresher.run() }
    ]
  }
}
