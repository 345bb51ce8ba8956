import CLinux
import Glibc

/// Asks the kernel which descriptors are ready: epoll(7). A poller for another kernel stands beside this file
/// with the same five methods.
@safe struct Poller: ~Copyable {
  /// What the kernel told of one descriptor.
  struct Event {
    var token: UInt64
    var readiness: EventLoop.Readiness
  }

  /// The token of the poller's own wake-up descriptor; no registration has it.
  private static let wakeToken = UInt64.max

  private let descriptor: Int32
  private let wakeDescriptor: Int32
  private let buffer: UnsafeMutablePointer<epoll_event>
  private static let capacity = 256

  init() throws(SystemError) {
    unsafe buffer = .allocate(capacity: Self.capacity)
    unsafe buffer.initialize(repeating: epoll_event(), count: Self.capacity)
    descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
    wakeDescriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
    guard descriptor >= 0, wakeDescriptor >= 0 else {
      throw .last(descriptor < 0 ? "epoll_create1" : "eventfd")
    }
    try control(EPOLL_CTL_ADD, wakeDescriptor, EPOLLIN.rawValue, token: Self.wakeToken)
  }

  deinit {
    close(descriptor)
    close(wakeDescriptor)
    unsafe buffer.deallocate()
  }

  func add(_ fd: Int32, _ interest: EventLoop.Interest, token: UInt64) throws(SystemError) {
    try control(EPOLL_CTL_ADD, fd, Self.mask(interest), token: token)
  }

  func modify(_ fd: Int32, _ interest: EventLoop.Interest, token: UInt64) throws(SystemError) {
    try control(EPOLL_CTL_MOD, fd, Self.mask(interest), token: token)
  }

  /// A descriptor that was closed is gone already: that is no error.
  func remove(_ fd: Int32) {
    _ = epoll_ctl(descriptor, EPOLL_CTL_DEL, fd, nil)
  }

  /// Ends a wait; from any thread.
  func wake() {
    var one: UInt64 = 1
    unsafe write(wakeDescriptor, &one, 8)
  }

  /// Waits until something is ready, at most that many milliseconds (-1: for ever), and appends it.
  func wait(milliseconds: Int32, into events: inout [Event]) {
    let count = unsafe epoll_wait(descriptor, buffer, Int32(Self.capacity), milliseconds)
    guard count > 0 else {
      precondition(count == 0 || errno == EINTR, "epoll_wait")
      return
    }
    for index in 0..<Int(count) {
      let event = unsafe buffer[index]
      let token = unsafe event.data.u64
      if token == Self.wakeToken {
        var value: UInt64 = 0
        unsafe read(wakeDescriptor, &value, 8)
      } else {
        events.append(Event(token: token, readiness: unsafe Self.readiness(event.events)))
      }
    }
  }

  private func control(
    _ operation: Int32, _ fd: Int32, _ mask: UInt32, token: UInt64
  ) throws(SystemError) {
    var event = unsafe epoll_event()
    unsafe event.events = mask
    unsafe event.data.u64 = token
    guard unsafe epoll_ctl(descriptor, operation, fd, &event) == 0 else { throw .last("epoll_ctl") }
  }

  private static func mask(_ interest: EventLoop.Interest) -> UInt32 {
    var mask: UInt32 = 0
    if interest.contains(.readable) { mask |= EPOLLIN.rawValue }
    if interest.contains(.writable) { mask |= EPOLLOUT.rawValue }
    if interest.contains(.peerClosed) { mask |= EPOLLRDHUP.rawValue }
    if interest.contains(.changes) { mask |= EPOLLET.rawValue }
    return mask
  }

  private static func readiness(_ mask: UInt32) -> EventLoop.Readiness {
    var readiness: EventLoop.Readiness = []
    if mask & EPOLLIN.rawValue != 0 { readiness.insert(.readable) }
    if mask & EPOLLOUT.rawValue != 0 { readiness.insert(.writable) }
    if mask & EPOLLRDHUP.rawValue != 0 { readiness.insert(.peerClosed) }
    if mask & EPOLLHUP.rawValue != 0 { readiness.insert(.hangUp) }
    if mask & EPOLLERR.rawValue != 0 { readiness.insert(.error) }
    return readiness
  }
}
