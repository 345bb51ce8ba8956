/// A server-sent event (WHATWG HTML §9.2).
public struct ServerSentEvent: Sendable, Equatable {
  /// The `event` field; nil where there was none.
  public var event: String?
  /// The `data` lines joined by LF.
  public var data: String

  /// An event.
  public init(event: String? = nil, data: String) {
    self.event = event
    self.data = data
  }

  /// The event as it is sent, ended by an empty line. Every kind of line end in `data` begins a new data line,
  /// and none in `event` can begin a field.
  public var bytes: [UInt8] {
    var out: [UInt8] = []
    if let event {
      out += Array("event: ".utf8) + event.utf8.filter { $0 != 0x0A && $0 != 0x0D }
      out.append(0x0A)
    }
    out += "data: ".utf8
    var afterReturn = false
    for octet in data.utf8 {
      if octet == 0x0D || octet == 0x0A && !afterReturn { out += "\ndata: ".utf8 }
      if octet != 0x0D && octet != 0x0A { out.append(octet) }
      afterReturn = octet == 0x0D
    }
    return out + [0x0A, 0x0A]
  }
}

/// Reads events out of octets that come in pieces cut anywhere (WHATWG HTML §9.2.6).
///
/// An event longer than the limit is dropped and counted, so that a hostile source cannot fill the memory:
/// what the reader is for, usage figures, stands in short events.
public struct ServerSentEventReader: Sendable {
  /// How many events were dropped for their length.
  public private(set) var dropped = 0
  /// How many octets wait for the end of their event, as far as they are kept: more than the limit where it is
  /// longer.
  public var pending: Int { data.count + line.count + (tooLong || lineTooLong ? limit : 0) }

  private let limit: Int
  private var line: [UInt8] = []
  private var lineTooLong = false
  private var skipLineFeed = false
  private var atStart = true
  private var event: String?
  private var data: [UInt8] = []
  private var hasData = false
  private var tooLong = false

  /// A reader that drops events of more than `limit` octets.
  public init(limit: Int = 1 << 20) { self.limit = limit }

  /// The events that these octets complete.
  public mutating func read(_ bytes: [UInt8]) -> [ServerSentEvent] {
    var events: [ServerSentEvent] = []
    for byte in bytes {
      if skipLineFeed {
        skipLineFeed = false
        if byte == 0x0A { continue }
      }
      if byte == 0x0A || byte == 0x0D {
        skipLineFeed = byte == 0x0D
        if let event = endLine() { events.append(event) }
      } else if line.count < limit {
        line.append(byte)
      } else {
        lineTooLong = true
      }
    }
    return events
  }

  private mutating func endLine() -> ServerSentEvent? {
    defer {
      line.removeAll(keepingCapacity: line.capacity <= 65_536)
      lineTooLong = false
    }
    if atStart {
      atStart = false
      if line.starts(with: [0xEF, 0xBB, 0xBF]) { line.removeFirst(3) }
    }
    if lineTooLong {
      tooLong = true
      return nil
    }
    if line.isEmpty { return dispatch() }
    let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.endIndex
    var value = line[colon...].dropFirst()
    if value.first == 0x20 { value = value.dropFirst() }
    switch String(decoding: line[..<colon], as: UTF8.self) {
    case "event": event = String(decoding: value, as: UTF8.self)
    case "data":
      if hasData { data.append(0x0A) }
      hasData = true
      if data.count + value.count > limit { tooLong = true } else { data.append(contentsOf: value) }
    default: break  // comments, ids and retry times are of no use here
    }
    return nil
  }

  private mutating func dispatch() -> ServerSentEvent? {
    defer {
      event = nil
      data = []
      hasData = false
      tooLong = false
    }
    if tooLong {
      dropped += 1
      return nil
    }
    guard hasData else { return nil }
    return ServerSentEvent(event: event, data: String(decoding: data, as: UTF8.self))
  }
}
