import BramleyAPI
import Encodings
import Gateway
import HTTPMessages
import UserData

/// What a function's answer is as files: its text, or the pictures that the provider has.
struct ObjectContents: Sendable {
  struct File: Sendable, Equatable {
    var type: ObjectType
    var bytes: [UInt8]
  }

  /// Why an answer is no files, whatever is tried.
  enum Unfit: Error, Sendable, Equatable {
    /// The model stopped before it was done.
    case cut
    case tooLarge(limit: Int)
    /// What the provider has is no picture, or may not be fetched (RULES §6.3).
    case unreadable
  }

  private let function: FunctionDefinition
  private let limit: Int
  private let files: FalFiles?
  private let sleep: @Sendable (Duration) async throws -> Void

  /// - Parameters:
  ///   - limit: octets of all files of an answer.
  ///   - files: takes pictures from where the provider keeps them.
  init(
    _ function: FunctionDefinition, limit: Int, files: FalFiles?,
    sleep: @escaping @Sendable (Duration) async throws -> Void
  ) {
    self.function = function
    self.limit = limit
    self.files = files
    self.sleep = sleep
  }

  private var draws: Bool { if case .image = function.prompt { true } else { false } }

  /// How many files an answer is.
  var count: Int64 {
    guard draws, let asked = function.parameters.first(where: { $0.name == "num_images" }),
      case .number(let text) = asked.value, let number = Int64(text)
    else { return 1 }
    return min(max(number, 1), 16)
  }

  func files(of answer: FunctionAnswer) async throws -> [File] {
    guard answer.stop == .end else { throw Unfit.cut }
    guard draws else {
      guard let bytes = answer.document(function) else { throw Unfit.unreadable }
      guard bytes.count <= limit else { throw Unfit.tooLarge(limit: limit) }
      return [File(type: function.form == .json ? .json : .text, bytes: bytes)]
    }
    var all: [File] = []
    var left = limit
    for image in answer.images {
      let file = try await retrying { try await fetched(image.url) }
      guard file.bytes.count <= left else { throw Unfit.tooLarge(limit: limit) }
      left -= file.bytes.count
      all.append(file)
    }
    return all
  }

  private func fetched(_ url: String) async throws -> File {
    guard let files else { throw Unfit.unreadable }
    do {
      let file = try await files.file(at: url)
      guard let type = ObjectType(rawValue: file.mediaType) else { throw Unfit.unreadable }
      return File(type: type, bytes: file.bytes)
    } catch FalFiles.Refusal.status(let status) where status >= 404 {
      // It may be on its way to where it is fetched from.
      throw FalFiles.Refusal.status(status)
    } catch is FalFiles.Refusal {
      throw Unfit.unreadable
    } catch is OutsidePolicy.Refusal {
      throw Unfit.unreadable
    } catch HTTPBodyError.tooLarge(let limit) {
      throw Unfit.tooLarge(limit: limit)
    }
  }

  /// Tries a step three times within a few seconds, unless it cannot succeed.
  func retrying<Value>(_ step: () async throws -> Value) async throws -> Value {
    for pause in [250, 2_000] {
      do {
        return try await step()
      } catch let reason as Unfit {
        throw reason
      } catch {
        try await sleep(.milliseconds(pause))
      }
    }
    return try await step()
  }
}

extension ObjectContents.Unfit {
  var failure: Failure {
    switch self {
    case .cut:
      Failure(422, .outputIncomplete, "The model stopped before it was done; what it made is not stored.")
    case .tooLarge(let limit):
      Failure(422, .objectTooLarge, "What was made is longer than \(limit) octets, and is not stored.")
    case .unreadable:
      Failure(502, .objectNotStored, "What was made could not be stored: keep it in the app.")
    }
  }
}
