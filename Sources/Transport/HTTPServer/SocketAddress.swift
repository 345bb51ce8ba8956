import CLinux
import Glibc
import System

/// An address and port of IPv4 or IPv6, numeric: no name is looked up.
package struct SocketAddress: Sendable, Hashable, CustomStringConvertible {
  /// The address in its canonical text, without brackets.
  package private(set) var host: String
  /// The port; 0 lets the system choose one.
  package var port: UInt16
  /// Whether it is IPv6.
  package private(set) var isIPv6: Bool

  /// Reads `127.0.0.1:8080` or `[::1]:8080`; nil for anything else.
  package init?(_ text: String) {
    guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
      return nil
    }
    var host = text[..<colon]
    isIPv6 = host.hasPrefix("[")
    if isIPv6 {
      guard host.hasSuffix("]"), host.count > 2 else { return nil }
      host = host.dropFirst().dropLast()
    }
    self.host = String(host)
    self.port = port
    // The canonical text, and a check of the given one.
    let canonical = try? unsafe withSocketAddress { address, _ in unsafe SocketAddress(address)?.host }
    guard let canonical else { return nil }
    self.host = canonical
  }

  /// The address of a socket; nil for a family that is not IP.
  init?(_ storage: UnsafePointer<sockaddr>) {
    var buffer = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    switch Int32(unsafe storage.pointee.sa_family) {
    case AF_INET:
      var address = unsafe UnsafeRawPointer(storage).loadUnaligned(as: sockaddr_in.self)
      guard unsafe inet_ntop(AF_INET, &address.sin_addr, &buffer, socklen_t(buffer.count)) != nil else {
        return nil
      }
      (port, isIPv6) = (UInt16(bigEndian: address.sin_port), false)
    case AF_INET6:
      var address = unsafe UnsafeRawPointer(storage).loadUnaligned(as: sockaddr_in6.self)
      guard unsafe inet_ntop(AF_INET6, &address.sin6_addr, &buffer, socklen_t(buffer.count)) != nil else {
        return nil
      }
      (port, isIPv6) = (UInt16(bigEndian: address.sin6_port), true)
    default: return nil
    }
    host = String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// The address as it is written in a URL.
  package var description: String { isIPv6 ? "[\(host)]:\(port)" : "\(host):\(port)" }

  /// Calls the body with the address as C has it. Throws where the text is no address.
  func withSocketAddress<Result>(
    _ body: (UnsafePointer<sockaddr>, socklen_t) throws -> Result
  ) throws -> Result {
    var storage = sockaddr_storage()
    let filled = unsafe withUnsafeMutableBytes(of: &storage) { bytes in
      if isIPv6 {
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        address.sin6_port = port.bigEndian
        guard unsafe inet_pton(AF_INET6, host, &address.sin6_addr) == 1 else { return 0 }
        unsafe bytes.storeBytes(of: address, as: sockaddr_in6.self)
        return MemoryLayout<sockaddr_in6>.size
      }
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = port.bigEndian
      guard unsafe inet_pton(AF_INET, host, &address.sin_addr) == 1 else { return 0 }
      unsafe bytes.storeBytes(of: address, as: sockaddr_in.self)
      return MemoryLayout<sockaddr_in>.size
    }
    guard filled > 0 else { throw SystemError(call: "inet_pton", code: EINVAL) }
    return try unsafe withUnsafePointer(to: &storage) {
      try unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        try unsafe body($0, socklen_t(filled))
      }
    }
  }
}
