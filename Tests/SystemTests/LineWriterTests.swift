import Foundation
import System
import Testing

@Suite("Lines on their way to a descriptor") struct LineWriterTests {
  private func writer(_ pipe: Pipe, capacity: Int = 1 << 20) -> LineWriter {
    LineWriter(descriptor: pipe.fileHandleForWriting.fileDescriptor, capacity: capacity) { "dropped \($0)" }
  }

  @Test("nobody reads: writing goes on, memory is bounded, and the order is kept to where it was dropped")
  func stalled() throws {
    let pipe = Pipe()
    // More than the pipe holds: what is let in cannot all have been written, however late the thread comes.
    let writer = writer(pipe, capacity: 100_000)
    let clock = ContinuousClock()
    let (count, padding) = (20_000, String(repeating: ".", count: 100))
    let time = clock.measure { for number in 0..<count { writer.write("\(number) \(padding)") } }
    #expect(time < .seconds(60))
    let dropped = writer.dropped
    #expect(dropped > count / 2)
    #expect(!writer.flush(within: .milliseconds(20)))
    // It is read at last.
    writer.close()
    var text = ""
    while !text.hasSuffix("\n") || !writer.flush(within: .milliseconds(20)) {
      text += String(decoding: pipe.fileHandleForReading.availableData, as: UTF8.self)
    }
    try pipe.fileHandleForWriting.close()
    text += String(decoding: try pipe.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    // Each number stands in its place, or was dropped there.
    var expected = 0
    for line in text.split(separator: "\n") {
      let words = line.split(separator: " ")
      if words[0] == "dropped" {
        expected += try #require(Int(words[1]))
      } else {
        #expect(Int(words[0]) == expected && words[1] == padding)
        expected += 1
      }
    }
    #expect(expected == count)
    writer.write("late")
    #expect(writer.dropped == dropped + 1)
  }

  @Test("lines of many threads are whole, and each thread's in order; flush waits for all")
  func threads() async throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "bramley-lines-\(UUID().uuidString)")
    try Data().write(to: path)
    defer { try? FileManager.default.removeItem(at: path) }
    let file = try FileHandle(forWritingTo: path)
    let writer = LineWriter(descriptor: file.fileDescriptor) { "dropped \($0)" }
    await withTaskGroup { group in
      for thread in 0..<4 {
        group.addTask { for number in 0..<500 { writer.write("\(thread) \(number)") } }
      }
    }
    #expect(writer.flush(within: .seconds(10)))
    let lines = try String(contentsOf: path, encoding: .utf8).split(separator: "\n")
    #expect(lines.count == 2_000 && writer.dropped == 0)
    for thread in 0..<4 {
      #expect(lines.filter { $0.hasPrefix("\(thread) ") } == (0..<500).map { "\(thread) \($0)" })
    }
    writer.close()
  }

  @Test("a reader that is gone, and one whose pipe does not wait")
  func odd() throws {
    Signals.ignoreBrokenPipe()
    let gone = Pipe()
    let first = writer(gone)
    try gone.fileHandleForReading.close()
    for number in 0..<100 { first.write("\(number)") }
    #expect(first.flush(within: .seconds(5)))
    first.close()
    let impatient = Pipe()
    let descriptor = impatient.fileHandleForWriting.fileDescriptor
    #expect(fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK) == 0)
    let second = writer(impatient)
    let line = String(repeating: "x", count: 999)
    for _ in 0..<300 { second.write(line) }
    var octets = 0
    while octets < 300_000 { octets += impatient.fileHandleForReading.availableData.count }
    #expect(octets == 300_000 && second.dropped == 0)
    second.close()
  }
}
