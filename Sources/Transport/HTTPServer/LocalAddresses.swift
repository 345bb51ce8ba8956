import Glibc

/// The addresses under which this machine is reached from others.
package enum LocalAddresses {
  /// Of the interfaces that are up, without loopback and those that need a zone (`fe80::…%eth0`); each once, in the
  /// system's order, with port 0.
  package static var all: [SocketAddress] {
    var first: UnsafeMutablePointer<ifaddrs>?
    guard unsafe getifaddrs(&first) == 0 else { return [] }
    defer { unsafe freeifaddrs(first) }
    var found: [SocketAddress] = []
    var entry = unsafe first
    while let interface = unsafe entry {
      unsafe entry = interface.pointee.ifa_next
      let flags = Int32(bitPattern: unsafe interface.pointee.ifa_flags)
      guard flags & Int32(IFF_UP) != 0, flags & Int32(IFF_LOOPBACK) == 0,
        let storage = unsafe interface.pointee.ifa_addr, var address = unsafe SocketAddress(storage),
        !address.host.hasPrefix("fe80:")
      else { continue }
      address.port = 0
      if !found.contains(address) { found.append(address) }
    }
    return found
  }
}
