import CLinux
import Glibc
import System

/// A socket that listens. Several of one address share what comes (`SO_REUSEPORT`): one a loop.
struct Listener {
  let descriptor: Int32
  let address: SocketAddress

  /// Binds and listens. What is set here is inherited by every connection.
  init(_ wanted: SocketAddress, _ configuration: HTTPServer.Configuration) throws {
    let family = wanted.isIPv6 ? AF_INET6 : AF_INET
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    let descriptor = socket(family, kind, 0)
    guard descriptor >= 0 else { throw SystemError(call: "socket", code: errno) }
    do {
      func set(_ level: Int32, _ option: Int32, _ value: Int32) throws(SystemError) {
        var value = value
        let size = socklen_t(MemoryLayout<Int32>.size)
        guard unsafe setsockopt(descriptor, level, option, &value, size) == 0 else {
          throw SystemError(call: "setsockopt", code: errno)
        }
      }
      try set(SOL_SOCKET, SO_REUSEADDR, 1)
      try set(SOL_SOCKET, SO_REUSEPORT, 1)
      try set(Int32(IPPROTO_TCP), TCP_NODELAY, 1)
      try set(Int32(IPPROTO_TCP), TCP_NOTSENT_LOWAT, Int32(clamping: configuration.unsentLimit))
      // An IPv4 peer never shows as an IPv6 address, where limits by network would count it wrongly.
      if wanted.isIPv6 { try set(Int32(IPPROTO_IPV6), IPV6_V6ONLY, 1) }
      try unsafe wanted.withSocketAddress { address, length in
        guard unsafe bind(descriptor, address, length) == 0 else {
          throw SystemError(call: "bind", code: errno)
        }
      }
      guard listen(descriptor, Int32(clamping: configuration.backlog)) == 0 else {
        throw SystemError(call: "listen", code: errno)
      }
      var storage = sockaddr_storage()
      var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
      let bound = unsafe withUnsafeMutablePointer(to: &storage) {
        unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
          unsafe getsockname(descriptor, address, &length) == 0 ? SocketAddress(address) : nil
        }
      }
      guard let bound else { throw SystemError(call: "getsockname", code: errno) }
      address = bound
      self.descriptor = descriptor
    } catch {
      close(descriptor)
      throw error
    }
  }

  /// Throws where somebody else listens. `SO_REUSEPORT` by itself shares an address with every other server of
  /// this user, and each would get a part of what comes.
  static func requireFree(_ address: SocketAddress) throws {
    guard address.port != 0 else { return }
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    let descriptor = socket(address.isIPv6 ? AF_INET6 : AF_INET, kind, 0)
    guard descriptor >= 0 else { throw SystemError(call: "socket", code: errno) }
    defer { close(descriptor) }
    var one: Int32 = 1
    let size = socklen_t(MemoryLayout<Int32>.size)
    // Connections of a server that ended a moment ago do not count.
    _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, size)
    if address.isIPv6 {
      _ = unsafe setsockopt(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &one, size)
    }
    try unsafe address.withSocketAddress { address, length in
      guard unsafe bind(descriptor, address, length) == 0 else {
        throw SystemError(call: "bind", code: errno)
      }
    }
  }

  /// Listens no more.
  func discard() { close(descriptor) }

  /// What a look at the queue found.
  enum Arrival {
    case connection(Int32, peer: String)
    /// Nobody waits.
    case nobody
    /// No descriptor or no memory is left: look again later.
    case exhausted
  }

  /// Takes one connection out of the queue.
  func accept() -> Arrival {
    while true {
      var storage = sockaddr_storage()
      var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
      let flags = Int32(SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
      let (connection, peer) = unsafe withUnsafeMutablePointer(to: &storage) {
        unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
          let connection = unsafe linux_accept4(descriptor, address, &length, flags)
          return unsafe (connection, connection >= 0 ? SocketAddress(address)?.host : nil)
        }
      }
      if connection >= 0 { return .connection(connection, peer: peer ?? "") }
      switch errno {
      case EAGAIN: return .nobody
      case EMFILE, ENFILE, ENOBUFS, ENOMEM: return .exhausted
      case EBADF, EINVAL, ENOTSOCK, EOPNOTSUPP, EFAULT: return .nobody
      default: continue  // the peer left while it waited, or a signal came
      }
    }
  }
}
