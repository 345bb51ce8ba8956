/// One thing wrong in the configuration: where, what, and what to write instead.
package struct ConfigurationMistake: Error, Sendable, Equatable, CustomStringConvertible {
  /// Where the wrong value was written.
  package enum Place: Sendable, Equatable {
    /// In the file; both from 1.
    case file(line: Int, column: Int)
    /// In an environment variable.
    case variable(String)
    /// Nowhere: the key is missing.
    case missing
  }

  /// Such as `attest.apps[0].app_id`; empty for the whole.
  package var path: String
  package var place: Place
  /// What is wrong; holds no secret.
  package var problem: String
  /// What to write instead.
  package var remedy: String

  package init(path: String, place: Place, problem: String, remedy: String) {
    self.path = path
    self.place = place
    self.problem = problem
    self.remedy = remedy
  }

  package var description: String {
    let name = path.isEmpty ? "the configuration" : path
    let place =
      switch place {
      case .file(let line, let column): "line \(line), column \(column): "
      case .variable(let variable): "\(variable): "
      case .missing: ""
      }
    return "\(place)\(name): \(problem); \(remedy)"
  }
}

/// All that is wrong, in the order in which it was met.
package struct ConfigurationMistakes: Error, Sendable, Equatable, CustomStringConvertible {
  package let mistakes: [ConfigurationMistake]

  package init(_ mistakes: [ConfigurationMistake]) { self.mistakes = mistakes }

  /// A line each.
  package var description: String { mistakes.map(\.description).joined(separator: "\n") }
}

/// The names that are most like a misspelt one.
package enum Suggestion {
  /// The candidate that a slip of the pen turns into `name`: at most a third of its letters away.
  package static func nearest(to name: String, among candidates: some Sequence<String>) -> String? {
    let ranked = candidates.map { ($0, distance(Array(name.utf8.prefix(64)), Array($0.utf8.prefix(64)))) }
    guard let best = ranked.min(by: { ($0.1, $0.0) < ($1.1, $1.0) }) else { return nil }
    return best.1 <= max(2, name.utf8.count / 3) ? best.0 : nil
  }

  /// How many octets must be inserted, dropped or changed.
  private static func distance(_ a: [UInt8], _ b: [UInt8]) -> Int {
    var row = Array(0...b.count)
    for (i, x) in a.enumerated() {
      var diagonal = row[0]
      row[0] = i + 1
      for (j, y) in b.enumerated() {
        let changed = diagonal + (x == y ? 0 : 1)
        diagonal = row[j + 1]
        row[j + 1] = min(changed, row[j] + 1, diagonal + 1)
      }
    }
    return row[b.count]
  }
}
