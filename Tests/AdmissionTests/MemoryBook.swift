import Admission
import AppAttest
import Gateway

/// The rows of a ledger in dictionaries.
final class MemoryBook: AdmissionBook {
  private struct Place: Hashable {
    var subject: LineSubject
    var rule: String
    var window: Window?
  }

  static let keyID = [UInt8](repeating: 1, count: 32)
  static let anchor = [UInt8](repeating: 2, count: 32)

  var devices: [[UInt8]: DeviceState] = [:]
  var sessions: [[UInt8]: SessionState] = [:]
  var debugTokens: [[UInt8]: DebugTokenState] = [:]
  var consumed: Set<[UInt8]> = []
  var mints: Int64 = 0
  var floor: Int64 = 0
  var reservations: [Reservation] = []
  var uses: [String] = []
  var closures: [ModelClosure] = []
  var alarms: [LimitAlarm] = []
  private var places: [Place: Int] = [:]
  private var lines: [LedgerLine] = []
  private var windows: [String: [Window]] = [:]

  init() {
    devices[Self.keyID] = DeviceState(
      id: 1, keyID: Self.keyID, status: .live, appID: "T.app", acceptance: "production/T.app",
      anchor: Self.anchor, userID: nil, counters: CounterWindow())
  }

  /// Users who may not become a key's.
  var refusals: [String: AdmissionRefusal] = [:]
  func refusal(ofUser id: String, now: Int64) -> AdmissionRefusal? { refusals[id] }
  func refusal(ofSession id: [UInt8]) -> AdmissionRefusal? { .sessionOver }

  func device(_ keyID: [UInt8]) -> DeviceState? { devices[keyID] }
  func session(_ tokenHash: [UInt8]) -> SessionState? { sessions[tokenHash] }
  func debugToken(_ tokenHash: [UInt8]) -> DebugTokenState? { debugTokens[tokenHash] }

  func consume(_ challenge: ConsumedChallenge, keyID: [UInt8]) -> Bool {
    switch challenge {
    case .row(let random, let expiry): return expiry > floor && consumed.insert(random).inserted
    case .mint(let count):
      guard mints == count else { return false }
      mints += 1
      return true
    }
  }

  func line(_ subject: LineSubject, rule: String, window: Window?, now: Int64) -> LedgerLine {
    let governing = window.map { Window.governing($0, among: windows[rule] ?? [], now: now) }
    if let governing, windows[rule]?.contains(governing) != true {
      windows[rule, default: []].append(governing)
    }
    return line(at: Place(subject: subject, rule: rule, window: governing))
  }

  func line(at slot: Int) -> LedgerLine { lines[slot] }

  func line(_ subject: LineSubject, rule: String, besides slot: Int) -> LedgerLine {
    let window = places.first { $0.value == slot }?.key.window
    return line(at: Place(subject: subject, rule: rule, window: window))
  }

  func owner(ofLineAt slot: Int) -> (subject: LineSubject, rule: String) {
    let place = places.first { $0.value == slot }?.key
    return (place?.subject ?? .named(.everyone, ""), place?.rule ?? "")
  }

  func keep(_ alarm: LimitAlarm) { alarms.append(alarm) }

  func isClosed(_ model: ProviderModel) -> Bool { closures.contains { $0.model == model } }
  func keep(_ closure: ModelClosure) { closures.append(closure) }

  func leaseTime(now: Int64) -> Int64 { now }
  func keep(_ device: DeviceState) { devices[device.keyID] = device }
  func keep(_ line: LedgerLine) { lines[line.slot] = line }
  func keep(_ reservation: Reservation) { reservations.append(reservation) }
  func noteUse(debugToken name: String, at time: Int64) { uses.append(name) }

  /// (used, held) of every row of the rule together.
  func sums(_ rule: String) -> [Int64] {
    let slots = places.filter { $0.key.rule == rule }.map(\.value)
    return [slots.reduce(0) { $0 + lines[$1].used }, slots.reduce(0) { $0 + lines[$1].held }]
  }

  private func line(at place: Place) -> LedgerLine {
    if let slot = places[place] { return lines[slot] }
    let line = LedgerLine(slot: lines.count, start: place.window?.start ?? 0, end: place.window?.end ?? 0)
    places[place] = lines.count
    lines.append(line)
    return line
  }
}
