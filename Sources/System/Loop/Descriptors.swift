extension EventLoop {
  /// What to be told of a descriptor. Level-triggered, told again until it is dealt with, unless ``changes`` asks
  /// otherwise.
  package struct Interest: OptionSet, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }
    /// There is something to read, or the end.
    package static let readable = Interest(rawValue: 1)
    /// There is room to write.
    package static let writable = Interest(rawValue: 2)
    /// The peer sends no more: for a connection that is not read at the moment.
    package static let peerClosed = Interest(rawValue: 4)
    /// Told once each time something changes: the owner remembers it, and the interest never needs to change.
    package static let changes = Interest(rawValue: 8)
  }

  /// What is the matter with a descriptor. Hang-ups and errors come unasked, whatever the interest.
  package struct Readiness: OptionSet, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }
    /// Something to read, or the end.
    package static let readable = Readiness(rawValue: 1)
    /// Room to write.
    package static let writable = Readiness(rawValue: 2)
    /// The peer sends no more.
    package static let peerClosed = Readiness(rawValue: 4)
    /// Both directions are closed. Deregister, or the loop turns without rest.
    package static let hangUp = Readiness(rawValue: 8)
    /// The socket has an error. Deregister, or the loop turns without rest.
    package static let error = Readiness(rawValue: 16)
  }

  /// A descriptor that the loop watches. It belongs to the loop's thread.
  package final class Registration: @unchecked Sendable {
    let descriptor: Int32
    let token: UInt64
    var interest: Interest
    var onReady: ((Readiness) -> Void)?

    init(
      _ descriptor: Int32, _ generation: UInt32, _ interest: Interest,
      _ onReady: @escaping (Readiness) -> Void
    ) {
      self.descriptor = descriptor
      token = UInt64(generation) << 32 | UInt64(UInt32(bitPattern: descriptor))
      self.interest = interest
      self.onReady = onReady
    }
  }

  /// Watches a descriptor; the callback runs on the loop. On the loop only. The loop keeps the callback until
  /// ``deregister(_:)``, which comes before the descriptor is closed.
  package func register(
    _ descriptor: Int32, _ interest: Interest, _ onReady: @escaping (Readiness) -> Void
  ) throws(SystemError) -> Registration {
    assertCurrent()
    guard descriptor >= 0 else { throw SystemError(call: "epoll_ctl", code: 9) }
    // The generation keeps an event that the kernel already told from reaching the next owner of the number.
    nextGeneration &+= 1
    if nextGeneration == .max { nextGeneration = 1 }
    let registration = Registration(descriptor, nextGeneration, interest, onReady)
    try poller.add(descriptor, interest, token: registration.token)
    while registrations.count <= Int(descriptor) { registrations.append(nil) }
    registrations[Int(descriptor)] = registration
    return registration
  }

  /// Changes what to be told. On the loop only; nothing happens after ``deregister(_:)``.
  package func modify(_ registration: Registration, _ interest: Interest) throws(SystemError) {
    assertCurrent()
    guard registration.onReady != nil, registration.interest != interest else { return }
    try poller.modify(registration.descriptor, interest, token: registration.token)
    registration.interest = interest
  }

  /// Stops watching: the callback is not called again, not even for what the kernel told already. On the loop
  /// only; harmless when called again.
  package func deregister(_ registration: Registration) {
    assertCurrent()
    guard registration.onReady != nil else { return }
    registration.onReady = nil
    let index = Int(registration.descriptor)
    guard registrations[index] === registration else { return }
    registrations[index] = nil
    poller.remove(registration.descriptor)
  }

  func dispatch(_ event: Poller.Event) {
    let index = Int(event.token & 0xFFFF_FFFF)
    guard index < registrations.count, let registration = registrations[index],
      registration.token == event.token, let onReady = registration.onReady
    else { return }
    onReady(event.readiness)
  }
}
