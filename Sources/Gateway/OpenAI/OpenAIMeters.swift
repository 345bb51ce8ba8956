import Encodings
import HTTPMessages

/// Reads usage from the chunks of a Chat Completions stream.
///
/// Octets of an event that has not ended count as seen, as they do for every stream.
struct OpenAIStreamMeter: UsageMeter {
  private var reader = ServerSentEventReader()
  private var usage = OpenAIUsage()
  private var began = false
  /// The stream has said that nothing more comes.
  private var stopped = false
  private var hidden = false
  private var visibleOctets: Int64 = 0

  init() {}

  mutating func read(_ chunk: [UInt8]) {
    for event in reader.read(chunk) { read(event) }
  }

  var reading: MeterReading {
    let completeness: MeterReading.Completeness =
      if usage.isWhole { stopped ? .final : .input } else { began && usage.isReadable ? .begun : .nothing }
    return MeterReading(
      usage: usage.tokens, completeness: completeness,
      visibleOctets: visibleOctets + Int64(reader.pending), visibleOnly: !hidden && reader.dropped == 0)
  }

  private mutating func read(_ event: ServerSentEvent) {
    if event.data == "[DONE]" { return stopped = true }
    // What is unknown passes, and may hide output.
    guard let data = try? JSONReader.read(Array(event.data.utf8)), data.members != nil else {
      hidden = true
      return
    }
    guard let choices = data["choices"]?.elements else {
      if data["error"] == nil { hidden = true }
      return
    }
    began = true
    usage.merge(data["usage"])
    // The chunk of the usage has no choice, and is the last.
    if choices.isEmpty, data["usage"]?.members != nil { stopped = true }
    for choice in choices {
      read(delta: choice["delta"])
    }
  }

  private mutating func read(delta: JSONNode?) {
    guard let delta, !delta.isNull else { return }
    guard let members = delta.members else { return hidden = true }
    for member in members where !member.value.isNull {
      switch member.name {
      case "role": break
      case "content", "refusal":
        guard let text = member.value.string else { return hidden = true }
        visibleOctets += Int64(text.utf8.count)
      default: hidden = true
      }
    }
  }
}

/// Reads usage from a whole Chat Completions answer, once it has ended.
struct OpenAIBodyMeter: UsageMeter {
  private var answer = WholeAnswer()

  init() {}

  mutating func read(_ chunk: [UInt8]) { answer.read(chunk) }

  var reading: MeterReading {
    var usage = OpenAIUsage()
    usage.merge(answer.json?["usage"])
    return usage.isWhole ? MeterReading(usage: usage.tokens, completeness: .final) : MeterReading()
  }
}
