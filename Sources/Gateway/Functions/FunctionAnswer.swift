package import Encodings
import HTTPMessages

/// Why a model stopped.
package enum FunctionStop: String, Sendable {
  /// It was done.
  case end
  /// The output limit was reached: the answer is cut.
  case limit
  /// It, or its provider, would not.
  case refusal
}

/// A picture that a model drew.
package struct FunctionImage: Sendable, Equatable {
  /// Where the provider keeps it: https, or the picture itself (RFC 2397).
  package var url: String
  package var contentType: String?
  package var width: Int64?
  package var height: Int64?

  package init(url: String, contentType: String? = nil, width: Int64? = nil, height: Int64? = nil) {
    self.url = url
    self.contentType = contentType
    self.width = width
    self.height = height
  }

  package var json: JSONValue {
    var members: [(String, JSONValue)] = [("url", .string(url))]
    if let contentType { members.append(("content_type", .string(contentType))) }
    if let width { members.append(("width", .integer(width))) }
    if let height { members.append(("height", .integer(height))) }
    return .object(members)
  }
}

/// What a provider's answer says, freed of the provider's own words for it.
package enum FunctionEvent: Sendable, Equatable {
  case text(String)
  case images([FunctionImage])
  case stopped(FunctionStop)
  /// The provider says that it failed, in the middle of its answer.
  case failed
}

/// Reads one provider's 2xx answers.
package protocol FunctionReader: Sendable {
  /// The events that these octets complete; they may be cut anywhere.
  mutating func read(_ chunk: [UInt8]) -> [FunctionEvent]
  /// The events that the end of the answer completes.
  mutating func end() -> [FunctionEvent]
}

/// Reads answers that are streams of server-sent events.
protocol StreamedFunctionReader: FunctionReader {
  var events: ServerSentEventReader { get set }
  /// Whether the stream's own end came.
  var isOver: Bool { get }
  mutating func event(_ event: ServerSentEvent) -> [FunctionEvent]
}

extension StreamedFunctionReader {
  package mutating func read(_ chunk: [UInt8]) -> [FunctionEvent] {
    let read = events.read(chunk)
    return events.dropped > 0 ? [.failed] : read.flatMap { event($0) }
  }

  package mutating func end() -> [FunctionEvent] { isOver ? [] : [.failed] }
}

/// A function's answer as it comes together.
package struct FunctionAnswer: Sendable, Equatable {
  /// More text than this no function gives out, octets.
  package static let limit = 4 << 20

  package private(set) var text = ""
  package private(set) var images: [FunctionImage] = []
  /// nil as long as the model has not said that it stopped.
  package private(set) var stop: FunctionStop?
  package private(set) var hasFailed = false

  package init() {}

  package mutating func add(_ event: FunctionEvent) {
    switch event {
    case .text(let part):
      if text.utf8.count + part.utf8.count > Self.limit { hasFailed = true } else { text += part }
    case .images(let drawn): images += drawn
    case .stopped(let reason): stop = reason
    case .failed: hasFailed = true
    }
  }

  /// What an app gets of the whole: `text`, the `result` that the text spells, or `images`, and why it stopped.
  /// nil where the answer is not complete, or is not what the function promises.
  package func json(_ function: FunctionDefinition) -> JSONValue? {
    guard !hasFailed, let stop else { return nil }
    let end: (String, JSONValue) = ("stop", .string(stop.rawValue))
    if case .image = function.prompt {
      return images.isEmpty && stop == .end
        ? nil : .object([("images", .array(images.map(\.json))), end])
    }
    guard function.form == .json, stop == .end else { return .object([("text", .string(text)), end]) }
    return Self.value(in: text).map { .object([("result", $0), end]) }
  }

  /// What the model wrote, as a file holds it: the JSON where the function's output is JSON, else the text. nil where
  /// it is not what the function promises.
  package func document(_ function: FunctionDefinition) -> [UInt8]? {
    function.form == .json ? Self.value(in: text)?.bytes : Array(text.utf8)
  }

  /// The JSON value that the text is; models like to put one into a fence.
  static func value(in text: String) -> JSONValue? {
    var octets = Array(text.utf8)[...]
    func trim() {
      octets = octets.drop { $0 <= 0x20 }
      while let last = octets.last, last <= 0x20 { octets.removeLast() }
    }
    trim()
    let fence = Array("```".utf8)
    if octets.starts(with: fence), octets.count > 6, octets.suffix(3).elementsEqual(fence),
      let line = octets.firstIndex(of: 0x0A)
    {
      octets = octets[line...].dropLast(3)
      trim()
    }
    return (try? JSONReader.read(Array(octets)))?.value
  }
}
