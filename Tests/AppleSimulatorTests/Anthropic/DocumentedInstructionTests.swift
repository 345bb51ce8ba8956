import FoundationEssentials
import Testing

@testable import AppleSimulator

@Suite("The instructions of docs/simulator.md")
struct DocumentedInstructionTests {
  @Test("each one is known")
  func known() throws {
    let package = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(4)
    let path = package.joined(separator: "/") + "/docs/simulator.md"
    let text = String(decoding: try #require(FileManager.default.contents(atPath: path)), as: UTF8.self)
    var found = 0
    for piece in text.components(separatedBy: "[simulate:").dropFirst() {
      let (instruction, _) = Simulation.addressee(of: piece.prefix { $0 != "]" })
      #expect(SimulationInstruction(instruction) != nil, "\(instruction)")
      found += 1
    }
    #expect(found >= 19)
  }
}

extension String {
  fileprivate func components(separatedBy separator: String) -> [Substring] {
    var parts: [Substring] = []
    var rest = self[...]
    while let range = rest.firstRange(of: separator) {
      parts.append(rest[..<range.lowerBound])
      rest = rest[range.upperBound...]
    }
    return parts + [rest]
  }
}
