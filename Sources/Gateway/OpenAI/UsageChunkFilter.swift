import Encodings
import HTTPMessages

/// Keeps the chunk of the usage from an app that did not ask for it: it has no choice, and apps that read
/// `choices[0]` of every chunk would fail at it.
///
/// An event is held until its empty line has come, since only then it can be told what it is. One that is longer
/// than any such chunk passes as it comes. All octets that pass are those that came.
struct UsageChunkFilter: AnswerFilter {
  private static let limit = 8_192

  private var event: [UInt8] = []
  private var tooLong = false
  /// Octets of the line so far; a line without any ends the event.
  private var lineLength = 0
  private var afterReturn = false
  /// What became of the event that the octet before closed.
  private var closed: Outcome?

  private enum Outcome { case passed, kept }

  init() {}

  mutating func pass(_ chunk: [UInt8]) -> [UInt8] {
    var out: [UInt8] = []
    out.reserveCapacity(event.count + chunk.count)
    for octet in chunk {
      let endsPair = afterReturn && octet == 0x0A
      afterReturn = octet == 0x0D
      let before = closed
      closed = nil
      if endsPair, let before {
        // The second half of the line end that closed an event: it belongs to no other.
        if before == .passed { out.append(octet) }
        continue
      }
      event.append(octet)
      if endsPair { continue }
      if octet != 0x0A, octet != 0x0D {
        lineLength += 1
        if event.count > Self.limit { tooLong = true }
      } else if lineLength > 0 {
        lineLength = 0
      } else {
        close(into: &out)
      }
      if tooLong {
        out.append(contentsOf: event)
        event.removeAll(keepingCapacity: true)
      }
    }
    return out
  }

  mutating func end() -> [UInt8] {
    defer { event = [] }
    return event
  }

  private mutating func close(into out: inout [UInt8]) {
    let outcome = !tooLong && isUsage ? Outcome.kept : .passed
    if outcome == .passed { out.append(contentsOf: event) }
    closed = outcome
    event.removeAll(keepingCapacity: true)
    tooLong = false
  }

  private var isUsage: Bool {
    var reader = ServerSentEventReader(limit: Self.limit)
    let data = reader.read(event).first.flatMap { try? JSONReader.read(Array($0.data.utf8)) }
    return data?["choices"]?.elements?.isEmpty == true && data?["usage"]?.members != nil
  }
}
