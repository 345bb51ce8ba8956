import Glibc
import System
import Testing

@Suite("Process", .serialized, .timeLimit(.minutes(1)))
struct ProcessTests {
  private static func directory() throws -> String {
    let path = "/tmp/bramley-system-\(UInt64.random(in: 0 ... .max))"
    try Files.createDirectory(path)
    return path
  }

  private static func mode(_ path: String) -> mode_t {
    var information = stat()
    #expect(unsafe stat(path, &information) == 0)
    return information.st_mode & 0o7777
  }

  @Test("a written file has mode 0600 whatever was there, and is read back")
  func writeAndRead() throws {
    let directory = try Self.directory()
    let path = directory + "/secret"
    defer {
      _ = try? Files.remove(path)
      _ = unsafe rmdir(directory)
    }
    #expect(Self.mode(directory) == 0o700)
    try Files.write([1, 2, 3], to: path)
    _ = unsafe chmod(path, 0o644)
    let bytes = (0..<200_000).map { UInt8(truncatingIfNeeded: $0) }
    try Files.write(bytes, to: path)
    #expect(Self.mode(path) == 0o600)
    #expect(try Files.read(path, upTo: 200_000) == bytes)
    #expect(throws: Files.Failure.tooLarge(limit: 199_999)) { try Files.read(path, upTo: 199_999) }
    #expect(Files.exists(path))
    #expect(try Files.remove(path))
    #expect(try !Files.remove(path))
  }

  @Test("a failed write leaves no file behind; directories, devices and pipes are not read")
  func refusals() throws {
    let directory = try Self.directory()
    defer { _ = unsafe rmdir(directory) }
    #expect(throws: Files.Failure.self) { try Files.write([1], to: directory) }
    #expect(unsafe rmdir(directory) == 0, "something was left behind")
    #expect(throws: Files.Failure.notAFile) { try Files.read("/", upTo: 10) }
    #expect(throws: Files.Failure.notAFile) { try Files.read("/dev/zero", upTo: 10) }
    #expect(throws: Files.Failure.system(SystemError(call: "open", code: ENOENT))) {
      try Files.read(directory + "/absent", upTo: 10)
    }
    #expect(throws: Files.Failure.self) { try Files.createDirectory("/proc/no/such") }
    #expect(throws: Files.Failure.self) { try Files.createDirectory("/dev/null") }
  }

  @Test("nested directories are created, existing ones left alone")
  func directories() throws {
    let directory = try Self.directory()
    try Files.createDirectory(directory + "/a/b")
    _ = unsafe chmod(directory + "/a", 0o755)
    try Files.createDirectory(directory + "/a/b")
    #expect(Self.mode(directory + "/a") == 0o755)
    #expect(Self.mode(directory + "/a/b") == 0o700)
    for path in ["/a/b", "/a", ""] { _ = unsafe rmdir(directory + path) }
  }

  @Test("signals come as values, also before anyone waits; a cancelled wait ends")
  func signals() async throws {
    let loop = try EventLoop()
    defer { loop.stop() }
    Signals.ignoreBrokenPipe()
    let signals = try Signals(on: loop)
    kill(getpid(), SIGHUP)
    #expect(try await signals.next() == .hangUp)
    await withTaskGroup(of: Void.self) { tasks in
      tasks.addTask { await #expect(throws: CancellationError.self) { _ = try await signals.next() } }
      tasks.cancelAll()
    }
    async let next = signals.next()
    try await loop.sleep(for: .milliseconds(5))
    kill(getpid(), SIGTERM)
    #expect(try await next == .terminate)
    kill(getpid(), SIGINT)
    #expect(try await signals.next() == .interrupt)
    for number in [SIGTERM, SIGINT, SIGHUP] { signal(number, SIG_DFL) }
  }

  @Test("the limit of descriptors is raised, and never lowered")
  func descriptors() {
    let before = DescriptorLimit.current
    #expect(before.soft > 0 && before.soft <= before.hard)
    DescriptorLimit.raise(to: 64)
    #expect(DescriptorLimit.current == before)
    DescriptorLimit.raise(to: before.soft + 1)
    #expect(DescriptorLimit.current.soft == min(before.soft + 1, before.hard))
    #expect(DescriptorLimit.current.hard == before.hard)
  }

  @Test("the clocks run forward")
  func clocks() {
    let first = MonotonicTime.now
    #expect(first <= .now)
    #expect(WallClock.seconds > 1_700_000_000)
    #expect(WallClock.milliseconds / 1_000 - WallClock.seconds <= 1)
  }
}
