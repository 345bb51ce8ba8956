import Encodings
import Gateway
import HTTPMessages

/// Whatever passes OpenAI's policy is bounded: an allowed model, an output limit, the standard price, nothing
/// stored, and one reading.
func fuzzChatPolicy(_ bytes: [UInt8]) {
  let provider = OpenAI(policy: OpenAIPolicy(models: ["gpt-4.1-mini": "gpt-4.1-mini"]))
  let request = ProviderRequest(
    method: .post, path: "/v1/chat/completions", fields: ["content-type": "application/json"], body: bytes,
    pseudonym: "fuzz", now: 1_800_000_000)
  guard let call = try? provider.prepare(request) else { return }
  guard let sent = try? JSONReader.read(call.body) else { preconditionFailure("forwards what is no JSON") }
  precondition(sent["model"]?.string == "gpt-4.1-mini", "forwards another model")
  let limits = ["max_completion_tokens", "max_tokens"].compactMap { sent[$0]?.integer }
  precondition(!limits.isEmpty, "forwards no output limit")
  precondition(
    limits.allSatisfy { $0 <= 4_096 && $0 <= call.outputBound }, "forwards too high an output limit")
  precondition(sent["n"].map { $0.isNull || $0.integer == 1 } ?? true, "forwards several choices")
  precondition(
    sent["service_tier"]?.string == "default" && sent["store"]?.bool == false, "forwards a dearer call")
  precondition(sent["safety_identifier"]?.string == "fuzz", "forwards what the client says of the user")
  let asks = sent["stream_options"]?["include_usage"]?.bool == true
  precondition(!call.streamed || asks, "forwards a stream that says no usage")
  precondition(call.reserve > 0 && call.inputBound > 0, "reserves nothing")
}

/// An answer of OpenAI's means the same however it is cut: the same usage, and the same octets passed on but for
/// one kind of chunk.
func fuzzChatStream(_ bytes: [UInt8]) {
  let provider = OpenAI(policy: OpenAIPolicy(models: ["gpt-4.1-mini": "gpt-4.1-mini"]))
  let ask = #"{"model":"gpt-4.1-mini","stream":true,"messages":[]}"#
  let request = ProviderRequest(
    method: .post, path: "/v1/chat/completions", fields: ["content-type": "application/json"],
    body: Array(ask.utf8), pseudonym: nil, now: 1_800_000_000)
  guard let call = try? provider.prepare(request) else { preconditionFailure("refuses a plain request") }
  func read(step: Int) -> (MeterReading, [UInt8]) {
    var meter = provider.meter(for: call, streamed: true)
    guard var filter = provider.filter(for: call, streamed: true) else {
      preconditionFailure("shows the usage")
    }
    var passed: [UInt8] = []
    for start in stride(from: 0, to: bytes.count, by: step) {
      let chunk = Array(bytes[start..<min(start + step, bytes.count)])
      meter.read(chunk)
      passed += filter.pass(chunk)
    }
    return (meter.reading, passed + filter.end())
  }
  let (whole, octets) = read(step: max(1, bytes.count))
  let (pieces, same) = read(step: Int(bytes.first ?? 1) % 7 + 1)
  precondition(whole == pieces, "a cut answer means something else")
  precondition(octets == same && octets.count <= bytes.count, "a cut answer passes other octets")
  precondition(whole.usage.allInput.map { $0 >= 0 } ?? false, "the figures do not add up")
  let settlement = call.settlement(of: whole, streamed: true)
  precondition(settlement.cost >= 0, "pays back")
}
