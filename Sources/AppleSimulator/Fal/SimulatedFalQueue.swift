import Encodings

/// The calls in the simulated queue. Each look at one moves it on: some looks it waits, as many it runs, then it is
/// complete and billed.
actor SimulatedFalQueue {
  enum Place: Equatable {
    case waiting
    case running
    case complete
    case cancelled
  }

  struct Call {
    let picture: SimulatedPicture
    let app: String
    var place = Place.waiting
    /// Looks that are left at this place.
    var looks: Int
  }

  private let billing: SimulatedFalBilling
  private var calls: [String: Call] = [:]

  init(billing: SimulatedFalBilling) { self.billing = billing }

  func add(_ picture: SimulatedPicture, app: String, id: String) {
    calls[id] = Call(picture: picture, app: app, looks: picture.simulation.wait ?? 1)
  }

  /// The call as it is, before this look moves it on; nil for one that is not there.
  func look(at id: String, app: String) -> Call? {
    guard let call = call(id, app), !call.picture.simulation.lost else { return nil }
    if call.place == .waiting || call.place == .running {
      if call.looks <= 0 {
        advance(id)
      } else {
        calls[id]?.looks -= 1
      }
    }
    return calls[id]
  }

  /// The call without moving it.
  func call(_ id: String, _ app: String) -> Call? {
    calls[id].flatMap { $0.app == app || $0.app.hasPrefix(app + "/") ? $0 : nil }
  }

  /// Takes a call out of the queue, or tells one that runs to stop; where it was.
  func cancel(_ id: String, app: String) -> Place? {
    guard let call = call(id, app), !call.picture.simulation.lost else { return nil }
    if call.place == .waiting {
      calls[id]?.place = .cancelled
      billing.countCancelled()
    }
    return call.place
  }

  /// Moves every call on by one place, however many looks are left.
  func advanceAll() {
    for id in calls.keys { advance(id) }
  }

  private func advance(_ id: String) {
    guard var call = calls[id] else { return }
    switch call.place {
    case .waiting:
      call.place = .running
      call.looks = call.picture.simulation.wait ?? 1
    case .running:
      call.place = .complete
      if let status = call.picture.simulation.error {
        if status < 500, let units = call.picture.simulation.units { billing.bill(units) }
      } else {
        billing.bill(call.picture.microUnits)
      }
    case .complete, .cancelled: return
    }
    calls[id] = call
  }
}
