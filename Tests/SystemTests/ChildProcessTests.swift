import Foundation
import System
import Testing

@Suite("Programs that run beside this one") struct ChildProcessTests {
  @Test("what is written to it comes back by lines, with no end to the last one")
  func lines() throws {
    let child = try ChildProcess(
      "/bin/sh", ["-c", "read a; echo \"$a\"; printf '\\n%s' \"$NAME\""], environment: ["NAME": "é"])
    try child.write("one two\n")
    #expect(child.line() == "one two")
    #expect(child.line() == "")
    #expect(child.line() == "é")
    #expect(child.line() == nil)
  }

  @Test(
    "it has the three descriptors that it was given, though this process has 2,000, and no other environment")
  func descriptors() throws {
    DescriptorLimit.raise()
    let files = try (0..<2_000).map { _ in try #require(FileHandle(forReadingAtPath: "/dev/null")) }
    defer { for file in files { try? file.close() } }
    let child = try ChildProcess(
      "/bin/sh", ["-c", "echo /proc/$$/fd/*; env | grep -v -e ^PWD= -e ^_= -e ^SHLVL="],
      environment: ["A": "b"])
    let open = try #require(child.line()).split(separator: " ").compactMap { $0.split(separator: "/").last }
    // The last is the shell's own, of that folder.
    #expect(open == ["0", "1", "2", "3"])
    #expect(child.line() == "A=b")
    #expect(child.line() == nil)
  }

  @Test("letting go of it ends its input")
  func letGo() throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "child-\(UUID().uuidString)").path
    defer { try? FileManager.default.removeItem(atPath: path) }
    var child: ChildProcess? = try ChildProcess(
      "/bin/sh", ["-c", "echo ready; cat >/dev/null; touch \"$0\"", path],
      environment: ["PATH": "/usr/bin:/bin"])
    #expect(child?.line() == "ready")
    #expect(!FileManager.default.fileExists(atPath: path))
    child = nil
    while !FileManager.default.fileExists(atPath: path) { usleep(1_000) }
  }

  @Test("it leaves no zombie, also where it ends long after it was let go of", .timeLimit(.minutes(2)))
  func reaped() throws {
    var child: ChildProcess? = try ChildProcess(
      "/bin/sh", ["-c", "echo ready; cat >/dev/null; sleep 0.3"], environment: ["PATH": "/usr/bin:/bin"])
    #expect(child?.line() == "ready")
    let identifier = try #require(child?.identifier)
    child = nil
    // A zombie can be sent signals.
    while kill(identifier, 0) == 0 { usleep(1_000) }
    #expect(errno == ESRCH)
  }

  @Test("what cannot be started is said so")
  func missing() {
    #expect(throws: SystemError(call: "posix_spawn", code: ENOENT)) {
      _ = try ChildProcess("/nowhere/at/all", environment: [:])
    }
  }
}
