import CCurl
import HTTPMessages
import System

/// One transfer in libcurl's eyes; after a transfer that ended well the handle serves another, since making one and
/// its options costs more than the rest. It goes when the last reference goes, which is after it was taken out of
/// its multi handle.
@safe final class EasyHandle {
  let pointer: UnsafeMutableRawPointer
  var identifier: UInt { unsafe UInt(bitPattern: pointer) }
  private var lines: UnsafeMutablePointer<curl_slist>?

  /// A handle; nil for want of memory or where libcurl lacks an option it must have.
  init?(_ configuration: HTTPClientConfiguration) {
    guard let pointer = unsafe curl_easy_init() else { return nil }
    unsafe self.pointer = pointer
    setPolicy(configuration)
    setFunctions()
    guard isComplete else { return nil }
  }

  /// Makes it ready for that transfer; false for want of memory. Every option that differs between transfers is set
  /// here or taken back by ``clear()``.
  func prepare(for transfer: Transfer) -> Bool {
    let request = transfer.request
    for line in request.lines {
      guard let longer = unsafe curl_slist_append(lines, line) else { return false }
      unsafe lines = longer
    }
    set(CURLOPT_URL, request.url)
    set(CURLOPT_REQUEST_TARGET, request.target)
    setMethod(request)
    setContext(transfer)
    return isComplete
  }

  /// Forgets the transfer that ended, its body and its fields, which hold credentials.
  func clear() {
    note(unsafe bramley_set_pointer(pointer, CURLOPT_POSTFIELDS, nil))
    note(unsafe bramley_set_pointer(pointer, CURLOPT_HTTPHEADER, nil))
    set(CURLOPT_CUSTOMREQUEST, nil)
    unsafe curl_slist_free_all(lines)
    unsafe lines = nil
  }

  deinit {
    unsafe curl_easy_cleanup(pointer)
    unsafe curl_slist_free_all(lines)
  }

  /// Pauses and continues both directions as told.
  func pause(sending: Bool, receiving: Bool) -> CurlFailure? {
    let mask = (sending ? CURLPAUSE_SEND : 0) | (receiving ? CURLPAUSE_RECV : 0)
    return CurlFailure(unsafe curl_easy_pause(pointer, mask))
  }

  private func setPolicy(_ configuration: HTTPClientConfiguration) {
    set(CURLOPT_NOSIGNAL, 1)
    // Without it, cancelling a transfer that waits for a name waits, on the loop, for the resolver's thread.
    set(CURLOPT_QUICK_EXIT, 1)
    set(CURLOPT_PROTOCOLS_STR, "http,https")
    set(CURLOPT_FOLLOWLOCATION, 0)
    set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1)
    // No proxy, and not from the environment either.
    set(CURLOPT_PROXY, "")
    // Cancelling an HTTP/2 stream does not reach the other side in 7.88 (curl issue 17611).
    set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)
    set(CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2)
    // Debian's default directory of authorities turns libcurl's cache of them off.
    set(CURLOPT_CAPATH, nil)
    if let file = configuration.certificateAuthorities { set(CURLOPT_CAINFO, file) }
    let connect = configuration.connectTimeout.clampedNanoseconds / 1_000_000
    set(CURLOPT_CONNECTTIMEOUT_MS, Int(max(1, connect)))
    let age = configuration.maximumIdleAge.clampedNanoseconds / 1_000_000_000
    set(CURLOPT_MAXAGE_CONN, Int(max(1, age)))
    set(CURLOPT_TCP_KEEPALIVE, 1)
  }

  private func setMethod(_ request: OutgoingRequest) {
    switch request.form {
    case .head: set(CURLOPT_NOBODY, 1)
    case .plain:
      set(CURLOPT_HTTPGET, 1)
      if request.method != "GET" { set(CURLOPT_CUSTOMREQUEST, request.method) }
    case .upload:
      set(CURLOPT_POST, 1)
      if request.method != "POST" { set(CURLOPT_CUSTOMREQUEST, request.method) }
      let length = curl_off_t(request.body.length ?? -1)
      note(unsafe bramley_set_size(pointer, CURLOPT_POSTFIELDSIZE_LARGE, length))
      setShortBody(request.body)
    }
    note(unsafe bramley_set_pointer(pointer, CURLOPT_HTTPHEADER, lines))
  }

  /// Gives a short body over at once, so that it leaves together with the head and wakes the other server once; any
  /// other is asked for, piece by piece. Such a body could be sent again, but ``Transfer/requestBegins()`` stops
  /// every second attempt.
  private func setShortBody(_ body: HTTPBody) {
    guard case .bytes(let octets) = body.content, 1...Self.shortBody ~= octets.count else { return }
    note(
      unsafe octets.withUnsafeBytes { bytes in
        // libcurl keeps a copy of its own, as long as the length says that was set before.
        unsafe bramley_set_pointer(
          pointer, CURLOPT_COPYPOSTFIELDS, UnsafeMutableRawPointer(mutating: bytes.baseAddress))
      })
  }

  /// libcurl sends up to 64 KiB together with the head.
  private static let shortBody = 32_768

  private func setFunctions() {
    note(unsafe bramley_set_transfer(pointer, CURLOPT_WRITEFUNCTION, receiveBody))
    note(unsafe bramley_set_transfer(pointer, CURLOPT_HEADERFUNCTION, receiveLine))
    note(unsafe bramley_set_transfer(pointer, CURLOPT_READFUNCTION, sendBody))
    note(unsafe bramley_set_prerequest(pointer, beginRequest))
    note(unsafe bramley_set_open_socket(pointer, openSocket))
  }

  /// What the functions get.
  private func setContext(_ transfer: Transfer) {
    // The connections keep the transfer as long as the handle is in use.
    let context = unsafe Unmanaged.passUnretained(transfer).toOpaque()
    for option in [
      CURLOPT_WRITEDATA, CURLOPT_HEADERDATA, CURLOPT_READDATA, CURLOPT_PREREQDATA, CURLOPT_OPENSOCKETDATA,
    ] {
      note(unsafe bramley_set_pointer(pointer, option, context))
    }
  }

  /// Whether every option was taken, ever: most of them are there for safety.
  private(set) var isComplete = true

  private func note(_ code: CURLcode) { if code != CURLE_OK { isComplete = false } }

  private func set(_ option: CURLoption, _ value: Int) {
    note(unsafe bramley_set_long(pointer, option, value))
  }

  private func set(_ option: CURLoption, _ value: String?) {
    // libcurl keeps a copy of its own.
    note(unsafe bramley_set_string(pointer, option, value))
  }
}

/// Why libcurl gave a transfer up.
struct CurlFailure {
  let code: CURLcode

  init?(_ code: CURLcode) {
    if code == CURLE_OK { return nil }
    self.code = code
  }

  /// libcurl's words for the code, nothing of the request.
  var text: String { unsafe String(cString: curl_easy_strerror(code)) }

  func meaning(requestBegan: Bool) -> HTTPClientError {
    guard requestBegan else {
      switch code {
      case CURLE_OPERATION_TIMEDOUT: return .timedOut(.connect)
      case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
        CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS,
        CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ENGINE_SETFAILED:
        return .tls
      default: return .connect
      }
    }
    switch code {
    case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL, CURLE_HTTP_RETURNED_ERROR,
      CURLE_BAD_CONTENT_ENCODING:
      return .invalidResponse
    default: return .interrupted
    }
  }
}
