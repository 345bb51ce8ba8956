/// What the instructions of one prompt come to.
struct Simulation: Sendable {
  var error: Int?
  var errorAfter: Int?
  var retryAfter: Int?
  var noCredit = false
  var page = false
  var echoKey = false
  var redirect = false
  var delay: Duration = .zero
  var pace: Duration = .zero
  var stall = false
  var dropAfter: Int?
  var tokens: Int?
  var thinking = false
  var tool = false
  var noUsage = false
  var usage: (input: Int, output: Int)?
  var cacheRead = 0
  var cacheWrite = 0
  var gzip = false
  var chunk: Int?
  var wait: Int?
  /// Millionths.
  var units: Int?
  var lost = false

  /// The simulated providers, as an instruction names one to be for it alone: `error 529 at anthropic`.
  enum Provider: String, CaseIterable {
    case anthropic
    case openai
    case fal
  }

  /// The instructions of a prompt to that provider, and the prompt without any.
  static func read(_ prompt: String, by provider: Provider) throws(AnthropicFailure) -> (
    Simulation, rest: String
  ) {
    var simulation = Simulation()
    var rest = ""
    var remaining = Substring(prompt)
    let opening = "[simulate:"
    while let start = firstRange(of: opening, in: remaining) {
      rest += remaining[..<start.lowerBound]
      remaining = remaining[start.upperBound...]
      guard let end = remaining.firstIndex(of: "]") else {
        throw .invalid("the simulation instruction is not closed")
      }
      let (text, addressee) = addressee(of: remaining[..<end])
      guard let instruction = SimulationInstruction(text) else {
        throw .invalid("unknown simulation instruction:\(text.prefix(80))")
      }
      if addressee ?? provider == provider { simulation.apply(instruction) }
      remaining = remaining[remaining.index(after: end)...]
    }
    rest += remaining
    return (simulation, rest)
  }

  private mutating func apply(_ instruction: SimulationInstruction) {
    switch instruction {
    case .error(let status, let after): (error, errorAfter) = (status, after)
    case .retryAfter(let seconds): retryAfter = seconds
    case .noCredit: (noCredit, error) = (true, error ?? 400)
    case .page: page = true
    case .echoKey: echoKey = true
    case .redirect: redirect = true
    case .delay(let time): delay = time
    case .pace(let time): pace = time
    case .stall: stall = true
    case .drop(let after): dropAfter = after
    case .tokens(let count): tokens = count
    case .thinking: thinking = true
    case .tool: tool = true
    case .noUsage: noUsage = true
    case .usage(let input, let output): usage = (input, output)
    case .cacheRead(let count): cacheRead = count
    case .cacheWrite(let count): cacheWrite = count
    case .gzip: gzip = true
    case .bytes(let count): chunk = count
    case .wait(let looks): wait = looks
    case .units(let count): units = count * 1_000_000
    case .lost: lost = true
    }
  }

  /// An instruction without the provider that it is for, nil for each.
  static func addressee(of text: Substring) -> (Substring, Provider?) {
    for provider in Provider.allCases {
      let ending = " at \(provider.rawValue)"
      if text.hasSuffix(ending) { return (text.dropLast(ending.count), provider) }
    }
    return (text, nil)
  }

  private static func firstRange(of needle: String, in text: Substring) -> Range<Substring.Index>? {
    var index = text.startIndex
    while let start = text[index...].firstIndex(of: "[") {
      if text[start...].hasPrefix(needle) {
        return start..<text.index(start, offsetBy: needle.count)
      }
      index = text.index(after: start)
    }
    return nil
  }

}
