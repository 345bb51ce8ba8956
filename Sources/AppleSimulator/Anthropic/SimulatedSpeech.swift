import Encodings

/// What a simulated model says, whoever it plays: made of the prompt alone, a token a word.
enum SimulatedSpeech {
  /// An estimate of a meal in JSON, which is what the function asks for that `dev` brings.
  static func estimate(of asked: String) -> String {
    let kcal = 100 + asked.utf8.count * 7 % 700
    let item: JSONValue = ["name": .string(String(asked.prefix(80))), "kcal": .integer(kcal)]
    return JSONValue.object([("kcal", .integer(kcal)), ("items", [item]), ("confidence", "low")]).text
  }

  /// The answer to a prompt that is the last of so many turns.
  ///
  /// - Parameter name: whom the model plays, such as `Claude`.
  static func text(to asked: String, turns: Int, by name: String) -> String {
    let prompt = asked.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    let quoted = prompt.count > 120 ? "\(prompt.prefix(119))…" : prompt
    let opening: String
    if turns > 1 {
      opening = "Turn \(turns) of our talk: you said “\(quoted)”."
    } else if prompt.isEmpty {
      opening = "Hello! I am a simulated \(name)."
    } else if prompt.hasSuffix("?") {
      opening = "You ask me “\(quoted)”. A real \(name) would know; I am a simulated one."
    } else {
      opening = "Hello! You said “\(quoted)”, and I am a simulated \(name)."
    }
    return opening
      + " Your words came the whole way all the same: a device signed them, Bramley checked the proof and "
      + "counted the call, and this answer streams back to you piece by piece. No key left the server, and "
      + "no money was spent."
  }

  /// What it thinks before.
  static let thought = "The user writes to a simulation; a short, friendly answer will do."
  /// The arguments of a tool's call.
  static let toolInput = ["{\"location\": ", "\"Lyon", ", France\"}"]

  /// Words with the blank before them.
  static func pieces(_ text: String) -> [String] {
    var pieces: [String] = []
    for character in text {
      if character == " " || pieces.isEmpty { pieces.append("") }
      pieces[pieces.count - 1].append(character)
    }
    return pieces
  }
}
