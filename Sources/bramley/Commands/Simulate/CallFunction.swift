import BramleyAPI
import BramleyClient
import Encodings
import HTTPMessages

/// `bramley simulate call`
struct CallFunction: Command {
  static let syntax = CommandSyntax(
    words: ["simulate", "call"], summary: "Call a function as a simulated phone.",
    positionals: [
      .init(name: "NAME", summary: "the function"),
      .init(name: "INPUT", summary: "its fields as JSON, such as '{\"meal\": \"soup\"}'"),
    ],
    options: SimulatedPhone.options(device: defaultDevice) + [
      .init(name: "access-token", value: "TOKEN", summary: "of the user, where the function asks for one"),
      .init(
        name: "idempotency-key", value: "KEY",
        summary: "the same key and input get the same answer for 10 minutes"),
    ],
    discussion: """
      The phone registers itself if it is not registered. Text goes to stdout as it comes, else the
      answer as JSON; on failure the error's code goes to stderr.
      """)

  private static let defaultDevice = "phone"

  private let arguments: ParsedArguments
  private let input: JSONValue

  init(_ arguments: ParsedArguments) throws(UsageError) {
    self.arguments = arguments
    let text = arguments.positional("INPUT")
    guard let node = try? JSONReader.read(Array(text.utf8)), node.members != nil else {
      throw .invalid(name: "INPUT", value: text, expected: "a JSON object such as {\"meal\": \"soup\"}")
    }
    input = node.value
  }

  func run(_ console: Console) async throws -> ExitCode {
    let phone = try SimulatedPhone(arguments, device: Self.defaultDevice)
    try await phone.reaching {
      let stream = try await phone.client.streamFunction(
        arguments.positional("NAME"), input, accessToken: arguments.value("access-token"),
        idempotencyKey: arguments.value("idempotency-key"))
      var written = ""
      for try await event in stream {
        switch event {
        case .text(let piece):
          console.write(piece)
          written = piece
        case .done(let answer):
          if !written.isEmpty, !written.hasSuffix("\n") { console.print() }
          Self.show(answer, isTextShown: !written.isEmpty, console)
        }
      }
      if let left = Ask.left(stream.fields) { console.note(left) }
    }
    return .success
  }

  private static func show(_ answer: FunctionAnswer, isTextShown: Bool, _ console: Console) {
    if !isTextShown {
      if let text = answer.text { console.print(text) }
      if let result = answer.result { console.print(result.value.prettyText) }
      for image in answer.images { console.print(image.url) }
      for object in answer.objects {
        console.print("\(object.bucket)/\(object.path)")
        console.note("(\(object.contentType), \(object.bytes) octets)")
      }
    }
    if let code = answer.notStored { console.note("(not stored: \(code.rawValue))") }
    if answer.stop != "end" { console.note("(stopped: \(answer.stop))") }
  }
}
