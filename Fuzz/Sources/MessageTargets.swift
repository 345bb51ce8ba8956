import Encodings
import Gateway
import HTTPMessages
import Transport

/// A message means the same however the network cuts it; a reader that disagrees with itself can be smuggled
/// past.
func fuzzHTTP(_ bytes: [UInt8]) {
  let whole = HTTPRequestParser.events(of: bytes)
  let step = Int(bytes.first ?? 1) % 7 + 1
  let pieces = HTTPRequestParser.events(of: bytes, cutAt: Array(stride(from: 0, to: bytes.count, by: step)))
  precondition(whole == pieces, "cut every \(step) octets the message reads differently")
}

func fuzzServerSentEvents(_ bytes: [UInt8]) {
  var atOnce = ServerSentEventReader(limit: 256)
  var piecewise = ServerSentEventReader(limit: 256)
  let whole = atOnce.read(bytes)
  var pieces: [ServerSentEvent] = []
  for byte in bytes { pieces += piecewise.read([byte]) }
  precondition(whole == pieces && atOnce.dropped == piecewise.dropped, "cut events read differently")
}

/// What was read and written again reads the same.
func fuzzJSON(_ bytes: [UInt8]) {
  guard let node = try? JSONReader.read(bytes) else { return }
  let written = node.value.bytes
  guard let again = try? JSONReader.read(written) else {
    preconditionFailure("what was written does not read")
  }
  precondition(again.value == node.value, "what was written reads differently")
}

/// Whatever passes the policy is bounded: an allowed model, an output limit, a reserve, and one reading.
func fuzzPolicy(_ bytes: [UInt8]) {
  let provider = Anthropic(policy: AnthropicPolicy(models: ["claude-haiku-4-5": "claude-haiku-4-5"]))
  let request = ProviderRequest(
    method: .post, path: "/v1/messages",
    fields: ["content-type": "application/json", "anthropic-version": "2023-06-01"], body: bytes,
    pseudonym: "fuzz", now: 1_800_000_000)
  guard let call = try? provider.prepare(request) else { return }
  guard let sent = try? JSONReader.read(call.body) else { preconditionFailure("forwards what is no JSON") }
  precondition(sent["model"]?.string == "claude-haiku-4-5", "forwards another model")
  guard let limit = sent["max_tokens"]?.integer else { preconditionFailure("forwards no output limit") }
  precondition(limit <= 4_096 && limit <= call.outputBound, "forwards too high an output limit")
  precondition(call.reserve > 0 && call.inputBound > 0, "reserves nothing")
  precondition(
    sent["metadata"]?.value == ["user_id": "fuzz"], "forwards what the client says of the user")
}

/// What passes fal's policy has a bound on every number that costs, and one reading; what its queue and its heads say
/// is read without a trap.
func fuzzPictures(_ bytes: [UInt8]) {
  _ = FalQueue.receipt(bytes)
  _ = FalQueue.state(bytes)
  let model = "fal-ai/flux/schnell"
  let provider = Fal(apps: [FalApp(id: model, maximumImages: 4, maximumPixels: 1_048_576)])
  let request = ProviderRequest(
    method: .post, path: Fal.Way.direct.path(of: model), fields: ["content-type": "application/json"],
    body: bytes, pseudonym: nil, now: 1_800_000_000)
  guard let call = try? provider.prepare(request) else { return }
  guard let sent = try? JSONReader.read(call.body) else { preconditionFailure("forwards what is no JSON") }
  guard let images = sent["num_images"]?.integer, (1...4).contains(images) else {
    preconditionFailure("forwards no number of images")
  }
  precondition(sent["image_size"]?.isNull == false, "forwards no size")
  precondition(call.imageBound == images && call.reserve > 0, "reserves nothing")
  let known: Set<String> = [
    "prompt", "negative_prompt", "seed", "num_images", "image_size", "guidance_scale",
    "enable_safety_checker", "output_format", "sync_mode",
  ]
  for member in sent.members ?? [] { precondition(known.contains(member.name), "forwards another field") }
}

/// An answer to a function means the same however the network cuts it, whichever provider gave it.
///
/// The first octet chooses the provider and the size of the pieces.
func fuzzFunctionAnswer(_ bytes: [UInt8]) {
  let choice = Int(bytes.first ?? 0)
  let content = Array(bytes.dropFirst())
  let dialect = FunctionDialects.all[choice % FunctionDialects.all.count]
  func read(step: Int) -> FunctionAnswer {
    var (reader, answer) = (dialect.reader(), FunctionAnswer())
    for start in stride(from: 0, to: content.count, by: step) {
      for event in reader.read(Array(content[start..<min(start + step, content.count)])) { answer.add(event) }
    }
    for event in reader.end() { answer.add(event) }
    return answer
  }
  let (whole, pieces) = (read(step: max(1, content.count)), read(step: choice / 8 % 7 + 1))
  precondition(whole.hasFailed == pieces.hasFailed, "a cut answer ends otherwise")
  precondition(whole.hasFailed || whole == pieces, "a cut answer means something else")
  guard let template = try? FunctionTemplate("Draw.") else { preconditionFailure("a template does not read") }
  var function = FunctionDefinition(
    name: "f", provider: dialect.provider, model: "m",
    prompt: dialect.draws ? .image(template) : .messages(system: nil, [.init(.user, template)]))
  for form in FunctionDefinition.Form.allCases {
    function.form = form
    guard let json = whole.json(function) else { continue }
    precondition((try? JSONReader.read(json.bytes)) != nil, "an app is told what is no JSON")
    for image in whole.images {
      precondition(image.url.hasPrefix("https://") || image.url.hasPrefix("data:image/"), "an odd picture")
    }
  }
}

/// Whatever a user sends to a function stays one text of its own in the request, and a template is read one way.
///
/// The octets up to the first LF are a template, the rest is the input.
func fuzzFunction(_ bytes: [UInt8]) {
  let head = bytes.prefix { $0 != 0x0A }
  _ = try? FunctionTemplate(String(decoding: head, as: UTF8.self))
  guard let template = try? FunctionTemplate("Before {{text}} after.") else {
    preconditionFailure("a template does not read")
  }
  let function = FunctionDefinition(
    name: "f", provider: "anthropic", model: "claude-haiku-4-5",
    prompt: .messages(system: nil, [.init(.user, template)]),
    fields: [FunctionField("text", .string(maximumLength: 1_000))])
  guard let input = try? FunctionInput(Array(bytes.dropFirst(head.count + 1)), fields: function.fields),
    let text = input.texts["text"]
  else { return }
  precondition((try? JSONReader.read(Array(text.utf8)))?.string != nil, "a value is no JSON")
  precondition(!text.utf8.contains(UInt8(ascii: "<")), "a value has a delimiter in it")
  for dialect in FunctionDialects.all where !dialect.draws {
    guard let sent = try? JSONReader.read(function.request(of: input, in: dialect).body) else {
      preconditionFailure("a request is no JSON that is read one way only")
    }
    let last = sent["messages"]?.elements?.last?["content"]
    let said = last?.string ?? last?.elements?.last?["text"]?.string
    precondition(
      said == "Before <input name=\"text\">\(text)</input> after.", "a text left its place")
  }
}
