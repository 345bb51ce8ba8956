import CCurl
import Glibc
import System

// libcurl's callbacks: functions of their own, since a C callback must belong to no actor (SE-0423). They run on
// the loop's thread, inside a call into libcurl, and so must not take a handle away.

private func transfer(_ context: UnsafeMutableRawPointer?) -> Transfer? {
  guard let context = unsafe context else { return nil }
  return unsafe Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
}

func receiveBody(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
  guard let transfer = unsafe transfer(context) else { return 0 }
  let taken = unsafe transfer.received(UnsafeRawBufferPointer(start: bytes, count: size * count))
  return taken ? size * count : Int(CURL_WRITEFUNC_PAUSE)
}

func receiveLine(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
  guard let transfer = unsafe transfer(context) else { return 0 }
  let line = unsafe Array(UnsafeRawBufferPointer(start: bytes, count: size * count))
  return transfer.received(line: line) ? size * count : 0
}

func sendBody(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
  guard let transfer = unsafe transfer(context) else { return Int(CURL_READFUNC_ABORT) }
  switch unsafe transfer.supply(into: UnsafeMutableRawBufferPointer(start: bytes, count: size * count)) {
  case .octets(let count): return count
  case .end: return 0
  case .wait: return Int(CURL_READFUNC_PAUSE)
  case .broken: return Int(CURL_READFUNC_ABORT)
  }
}

func beginRequest(
  _ context: UnsafeMutableRawPointer?, _ remote: UnsafeMutablePointer<CChar>?,
  _ local: UnsafeMutablePointer<CChar>?, _ remotePort: Int32, _ localPort: Int32
) -> Int32 {
  guard let transfer = unsafe transfer(context) else { return CURL_PREREQFUNC_ABORT }
  return transfer.requestBegins() ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
}

/// Opens a socket that no other program inherits (libcurl's own would be), and where the configuration says so
/// only to a public address (RULES §6.3). The address is the one that is connected to, so a name that resolves
/// differently a moment later changes nothing.
func openSocket(
  _ context: UnsafeMutableRawPointer?, _ purpose: curlsocktype,
  _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
  guard let transfer = unsafe transfer(context), let address = unsafe address else { return CURL_SOCKET_BAD }
  guard unsafe mayConnect(address, transfer.configuration) else {
    transfer.refusedAddress()
    return CURL_SOCKET_BAD
  }
  let type = unsafe address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue)
  return unsafe socket(address.pointee.family, type, address.pointee.protocol)
}

private func mayConnect(
  _ address: UnsafeMutablePointer<curl_sockaddr>, _ configuration: HTTPClientConfiguration
) -> Bool {
  if configuration.allowsPrivateAddresses { return true }
  guard let octets = unsafe octets(address) else { return false }
  let isPublic = octets.count == 4 ? PublicAddress.isPublic(v4: octets) : PublicAddress.isPublic(v6: octets)
  return isPublic || configuration.allowsAddress?(octets) == true
}

private func octets(_ address: UnsafeMutablePointer<curl_sockaddr>) -> [UInt8]? {
  // sockaddr_in: family, port, address. sockaddr_in6: family, port, flow, address; it is longer than sockaddr,
  // but libcurl's structure has room for it.
  let start = unsafe UnsafeRawPointer(address) + (MemoryLayout<curl_sockaddr>.offset(of: \.addr) ?? 0)
  switch unsafe address.pointee.family {
  case AF_INET: return unsafe Array(UnsafeRawBufferPointer(start: start + 4, count: 4))
  case AF_INET6: return unsafe Array(UnsafeRawBufferPointer(start: start + 8, count: 16))
  default: return nil
  }
}

func watchSocket(
  _ easy: UnsafeMutableRawPointer?, _ socket: curl_socket_t, _ what: Int32,
  _ context: UnsafeMutableRawPointer?, _ socketContext: UnsafeMutableRawPointer?
) -> Int32 {
  guard let context = unsafe context else { return -1 }
  let connections = unsafe Unmanaged<CurlConnections>.fromOpaque(context).takeUnretainedValue()
  var interest: EventLoop.Interest = []
  if what == CURL_POLL_IN || what == CURL_POLL_INOUT { interest.insert(.readable) }
  if what == CURL_POLL_OUT || what == CURL_POLL_INOUT { interest.insert(.writable) }
  return connections.watch(socket, interest) ? 0 : -1
}

func noteTimer(
  _ multi: UnsafeMutableRawPointer?, _ milliseconds: Int, _ context: UnsafeMutableRawPointer?
) -> Int32 {
  guard let context = unsafe context else { return -1 }
  unsafe Unmanaged<CurlConnections>.fromOpaque(context).takeUnretainedValue()
    .setTimer(milliseconds: milliseconds)
  return 0
}
