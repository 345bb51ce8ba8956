import AppAttest
import Encodings
import HTTPMessages

/// Asks DeviceCheck about a device that has registered a key: whether it had registered in the same month before,
/// under another key, before its app was installed anew. A signal for allowances; nothing waits for it, and nothing
/// fails with it.
struct DeviceChecker: Sendable {
  let apple: AppleDevices
  let metrics: Metrics
  let log: ApplicationLog

  /// nil where it is not configured.
  init?(_ apple: AppleDevices?, _ attest: Configuration.Attest, metrics: Metrics, log: ApplicationLog) {
    guard let apple, attest.deviceCheck else { return nil }
    self.apple = apple
    self.metrics = metrics
    self.log = log
  }

  /// Asks, keeps what was said with the key, and notes at Apple that the device has registered.
  func check(_ key: DeviceKey, token: String) async {
    let outcome: DeviceCheckOutcome
    do {
      outcome = try await ask(key, token)
    } catch let refusal as DeviceCheckRefusal {
      outcome = DeviceCheckOutcome(refusal)
      report(refusal, key)
    } catch is CancellationError {
      return
    } catch {
      metrics.alarms[Metrics.Alarm.storage].add()
      log.error("device_not_noted", [("error", .string("\(error)"))])
      return
    }
    metrics.deviceChecks[outcome.rawValue].add()
  }

  private func ask(_ key: DeviceKey, _ token: String) async throws -> DeviceCheckOutcome {
    let requests = DeviceCheck(services: apple.devices.services)
    let answer = try await send { try requests.query(subject(key, token), token: $0) }
    let bits = try DeviceCheckAnswer.bits(status: answer.status, body: answer.body)
    let isKnown = bits?.saysKnown(now: apple.now) ?? false
    try await apple.devices.store.note(DeviceStanding(bits: bits, isKnown: isKnown), of: key.keyID)
    if isKnown { return .known }
    do {
      // Both are sent: the operator's bit as it was a moment ago.
      let answer = try await send {
        try requests.update(subject(key, token), bit0: true, bit1: bits?.bit1 ?? false, token: $0)
      }
      try DeviceCheckAnswer.done(status: answer.status, body: answer.body)
      return .new
    } catch let refusal as DeviceCheckRefusal {
      report(refusal, key)
      return .notNoted
    }
  }

  private func subject(_ key: DeviceKey, _ token: String) throws(DeviceCheckRefusal) -> DeviceCheck.Subject {
    guard let transaction = UUID(random: apple.environment.random(16)),
      let subject = DeviceCheck.Subject(
        token: token, environment: key.environment, transaction: transaction, now: apple.environment.now())
    else { throw .deviceToken(detail: nil) }
    return subject
  }

  private func send(
    _ request: (AppleServiceToken) throws -> HTTPRequest
  ) async throws -> (status: Int, body: [UInt8]) {
    guard let answer = try await apple.ask(upTo: DeviceCheck.maximumLength, request) else {
      throw DeviceCheckRefusal.noAnswer
    }
    return (answer.response.status, answer.body)
  }

  private func report(_ refusal: DeviceCheckRefusal, _ key: DeviceKey) {
    if case .credentials = refusal {
      metrics.alarms[Metrics.Alarm.appleConfiguration].add()
      log.error("apple_key_refused", [("error", .string("\(refusal)"))])
    } else {
      log.info(
        "device_not_checked",
        [("key", .string(Hex.encode(key.keyID.prefix(6)))), ("error", .string("\(refusal)"))])
    }
  }
}
