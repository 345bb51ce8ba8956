/// An instruction in the prompt, `[simulate: NAME ARGUMENTS]`, that changes how a simulated provider behaves.
/// Several may stand in one prompt, each in brackets of its own; they are not repeated in the answer. One that
/// is not known is answered with 400, so that a misspelt one is noticed. With ` at anthropic`, ` at openai` or ` at fal`
/// behind it, an instruction is for that provider alone: `[simulate: error 529 at anthropic]`.
///
/// | instruction | what happens |
/// |---|---|
/// | `error STATUS` | that error in the provider's envelope; nothing is billed |
/// | `error STATUS after N` | streamed: 200, N pieces, then an `error` event, and the end |
/// | `retry-after SECONDS` | the error carries the field |
/// | `no credit` | the error by which the provider says that the operator's money is used up |
/// | `page` | the error is an HTML page, as from a proxy on the way |
/// | `echo key` | the answer, or the error's message, repeats the caller's key |
/// | `redirect` | 307 to another host |
/// | `delay TIME` | waits before the head (`50ms`, `2s`) |
/// | `pace TIME` | waits before each piece of a stream |
/// | `stall` | goes silent after the first piece, until the caller leaves |
/// | `drop after N` | breaks the connection after N pieces (unstreamed: in the middle) |
/// | `tokens N` | answers N tokens long, within `max_tokens` |
/// | `thinking` | thinks first (also when the request asks for thinking) |
/// | `tool` | calls the request's first tool |
/// | `no usage` | reports no usage at all |
/// | `usage INPUT OUTPUT` | reports, and bills, these tokens instead of the real ones |
/// | `cache read N`, `cache write N` | reports N input tokens as read from, written to the cache |
/// | `gzip` | compresses the answer though nobody asked for it |
/// | `bytes N` | sends the answer N octets at a time |
/// | `wait N` | fal's queue: complete after N looks while it waits and N while it runs |
/// | `units N` | fal: bills N units instead of the real ones |
/// | `lost` | fal's queue: does not know the call any more |
public enum SimulationInstruction: Sendable, Equatable {
  /// Fails with a status, before the answer or after so many pieces.
  case error(Int, after: Int?)
  /// `retry-after` of the error, seconds.
  case retryAfter(Int)
  /// The operator's money is used up.
  case noCredit
  /// The error as an HTML page.
  case page
  /// Repeats the caller's key.
  case echoKey
  /// 307.
  case redirect
  /// Waits before the head.
  case delay(Duration)
  /// Waits before each piece.
  case pace(Duration)
  /// Goes silent after the first piece.
  case stall
  /// Breaks the connection after so many pieces.
  case drop(after: Int)
  /// The answer's length in tokens.
  case tokens(Int)
  /// Thinks first.
  case thinking
  /// Calls a tool.
  case tool
  /// Reports no usage.
  case noUsage
  /// Reports and bills these.
  case usage(input: Int, output: Int)
  /// Reports input tokens as read from the cache.
  case cacheRead(Int)
  /// Reports input tokens as written to the cache.
  case cacheWrite(Int)
  /// Compresses.
  case gzip
  /// Sends so many octets at a time.
  case bytes(Int)
  /// Looks at a call in a queue until it runs, and until it is complete.
  case wait(Int)
  /// Bills so many units.
  case units(Int)
  /// The queue does not know the call any more.
  case lost

  /// Reads what stands between `[simulate:` and `]`; nil for what is none.
  public init?(_ text: some StringProtocol) {
    let words = String(text).split(separator: " ").map(String.init)
    guard let name = words.first else { return nil }
    // At most a million of anything: a prompt must not fill the memory.
    let numbers = words.compactMap { Int($0) }.filter { (0...1_000_000).contains($0) }
    switch (name, words.count, numbers.count) {
    case ("error", 2, 1) where (400...599).contains(numbers[0]): self = .error(numbers[0], after: nil)
    case ("error", 4, 2) where words[2] == "after" && (400...599).contains(numbers[0]):
      self = .error(numbers[0], after: numbers[1])
    case ("retry-after", 2, 1): self = .retryAfter(numbers[0])
    case ("page", 1, _): self = .page
    case ("echo", 2, _) where words[1] == "key": self = .echoKey
    case ("redirect", 1, _): self = .redirect
    case ("delay", 2, _):
      guard let time = Self.duration(words[1]) else { return nil }
      self = .delay(time)
    case ("pace", 2, _):
      guard let time = Self.duration(words[1]) else { return nil }
      self = .pace(time)
    case ("stall", 1, _): self = .stall
    case ("drop", 3, 1) where words[1] == "after": self = .drop(after: numbers[0])
    case ("tokens", 2, 1): self = .tokens(numbers[0])
    case ("thinking", 1, _): self = .thinking
    case ("tool", 1, _): self = .tool
    case ("no", 2, _) where words[1] == "usage": self = .noUsage
    case ("no", 2, _) where words[1] == "credit": self = .noCredit
    case ("usage", 3, 2): self = .usage(input: numbers[0], output: numbers[1])
    case ("cache", 3, 1) where words[1] == "read": self = .cacheRead(numbers[0])
    case ("cache", 3, 1) where words[1] == "write": self = .cacheWrite(numbers[0])
    case ("gzip", 1, _): self = .gzip
    case ("bytes", 2, 1) where numbers[0] > 0: self = .bytes(numbers[0])
    case ("wait", 2, 1): self = .wait(numbers[0])
    case ("units", 2, 1): self = .units(numbers[0])
    case ("lost", 1, _): self = .lost
    default: return nil
    }
  }

  private static func duration(_ text: String) -> Duration? {
    let digits = text.prefix { $0.isASCII && $0.isNumber }
    guard let amount = Int(digits), amount <= 1_000_000 else { return nil }
    switch text.dropFirst(digits.count) {
    case "ms": return .milliseconds(amount)
    case "s": return .seconds(amount)
    default: return nil
    }
  }
}
