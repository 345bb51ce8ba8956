import Encodings
import HTTPMessages

/// Reads usage from the events of a Messages stream.
///
/// Octets of an event that has not ended count as seen: whoever breaks a stream off within one has them, and a
/// line that never ends must not hide any.
struct AnthropicStreamMeter: UsageMeter {
  let unsplitWritesAreLong: Bool
  private var reader = ServerSentEventReader()
  private var usage = AnthropicUsage()
  private var started = false
  private var finished = false
  private var hidden = false
  private var visibleOctets: Int64 = 0

  init(unsplitWritesAreLong: Bool) { self.unsplitWritesAreLong = unsplitWritesAreLong }

  mutating func read(_ chunk: [UInt8]) {
    for event in reader.read(chunk) { read(event) }
  }

  var reading: MeterReading {
    let completeness: MeterReading.Completeness =
      if !started || !usage.hasInput { .nothing } else if finished && usage.hasOutput { .final } else {
        .input
      }
    return MeterReading(
      usage: usage.tokens(unsplitWritesAreLong: unsplitWritesAreLong), completeness: completeness,
      visibleOctets: visibleOctets + Int64(reader.pending), visibleOnly: !hidden && reader.dropped == 0)
  }

  private mutating func read(_ event: ServerSentEvent) {
    // The type in the data decides, as it does in the official SDKs; what is unknown
    // passes, and may hide output.
    guard let data = try? JSONReader.read(Array(event.data.utf8)), let type = data["type"]?.string else {
      hidden = true
      return
    }
    switch type {
    case "message_start":
      started = true
      usage.merge(data["message"]?["usage"])
    case "content_block_start":
      let block = data["content_block"]
      if block?["type"]?.string == "text" {
        count(block?["text"])
      } else {
        hidden = true
      }
    case "content_block_delta":
      switch data["delta"]?["type"]?.string {
      case "text_delta": count(data["delta"]?["text"])
      case "citations_delta": break
      default: hidden = true
      }
    case "message_delta":
      usage.merge(data["usage"])
      // The delta that names the reason of the stop is the last one, and its figures are final.
      if data["delta"]?["stop_reason"]?.string != nil, data["usage"]?["output_tokens"]?.integer != nil {
        finished = true
      }
    case "content_block_stop", "message_stop", "ping", "error": break
    default: hidden = true
    }
  }

  private mutating func count(_ text: JSONNode?) {
    visibleOctets += Int64(text?.string?.utf8.count ?? 0)
  }
}

/// Reads usage from a whole Messages answer, once it has ended.
struct AnthropicBodyMeter: UsageMeter {
  let unsplitWritesAreLong: Bool
  private var answer = WholeAnswer()

  init(unsplitWritesAreLong: Bool) { self.unsplitWritesAreLong = unsplitWritesAreLong }

  mutating func read(_ chunk: [UInt8]) { answer.read(chunk) }

  var reading: MeterReading {
    guard let root = answer.json else { return MeterReading() }
    var usage = AnthropicUsage()
    usage.merge(root["usage"])
    guard usage.hasInput, usage.hasOutput else { return MeterReading() }
    return MeterReading(
      usage: usage.tokens(unsplitWritesAreLong: unsplitWritesAreLong), completeness: .final)
  }
}
