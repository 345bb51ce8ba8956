import CLinux
import Glibc

/// A program that runs beside this one and is spoken to through its standard input and output; what it says of
/// errors goes where this process's goes. Descriptors of this process are not passed on. (Foundation's `Process`
/// reads beyond a buffer in a process that has more than about 1,300 of them open.)
@safe package final class ChildProcess: Sendable {
  /// Its number (PID).
  package let identifier: Int32
  private let input: Int32
  private let output: Int32

  /// Starts it with that environment, and no other.
  ///
  /// - Parameter path: of an executable file, or of a script that names its interpreter.
  /// - Throws: ``SystemError`` where it cannot be started.
  package init(
    _ path: String, _ arguments: [String] = [], environment: [String: String]
  ) throws(SystemError) {
    let toChild = try Self.pipe()
    let fromChild: (read: Int32, write: Int32)
    do {
      fromChild = try Self.pipe()
    } catch {
      Self.close(toChild.read, toChild.write)
      throw error
    }
    let (child, code) = Self.spawn(
      [path] + arguments, environment.map { "\($0.key)=\($0.value)" }, input: toChild.read,
      output: fromChild.write)
    Self.close(toChild.read, fromChild.write)
    guard code == 0 else {
      Self.close(toChild.write, fromChild.read)
      throw SystemError(call: "posix_spawn", code: code)
    }
    (identifier, input, output) = (child, toChild.write, fromChild.read)
  }

  /// Ends its input, which ends a program that reads from it; nobody waits for that but a thread of its own, so that
  /// no zombie stays: whoever waits for any child of this process, as exit tests do, would find that one for ever.
  deinit {
    Self.close(input, output)
    var thread = pthread_t()
    let argument = unsafe UnsafeMutableRawPointer(bitPattern: Int(identifier))
    if unsafe pthread_create(&thread, nil, { unsafe ChildProcess.reap($0) }, argument) == 0 {
      pthread_detach(thread)
    }
  }

  private static func reap(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    let child = pid_t(truncatingIfNeeded: Int(bitPattern: argument))
    while waitpid(child, nil, 0) < 0, errno == EINTR {}
    return nil
  }

  /// Writes all of it to the program's input.
  package func write(_ text: String) throws(SystemError) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(input, $0.baseAddress, $0.count) }
      if count > 0 {
        rest = rest.dropFirst(count)
      } else if errno != EINTR {
        throw .last("write")
      }
    }
  }

  /// The next line that it says, without its end; nil when it says no more.
  package func line() -> String? {
    var line: [UInt8] = []
    while true {
      var octet: UInt8 = 0
      let count = unsafe read(output, &octet, 1)
      if count < 0, errno == EINTR { continue }
      guard count == 1 else { return line.isEmpty ? nil : String(decoding: line, as: UTF8.self) }
      if octet == UInt8(ascii: "\n") { return String(decoding: line, as: UTF8.self) }
      line.append(octet)
    }
  }

  private static func close(_ descriptors: Int32...) {
    for descriptor in descriptors { _ = Glibc.close(descriptor) }
  }

  private static func pipe() throws(SystemError) -> (read: Int32, write: Int32) {
    var ends: [Int32] = [-1, -1]
    guard unsafe linux_pipe2(&ends, O_CLOEXEC) == 0 else { throw .last("pipe2") }
    return (ends[0], ends[1])
  }

  private static func spawn(
    _ arguments: [String], _ environment: [String], input: Int32, output: Int32
  ) -> (child: pid_t, code: Int32) {
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    unsafe posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
    unsafe posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
    unsafe linux_spawn_addclosefrom(&actions, STDERR_FILENO + 1)
    var attributes = posix_spawnattr_t()
    unsafe posix_spawnattr_init(&attributes)
    defer { unsafe posix_spawnattr_destroy(&attributes) }
    // Threads of this process block signals that the program wants.
    var (none, all) = (sigset_t(), sigset_t())
    unsafe sigemptyset(&none)
    unsafe sigfillset(&all)
    unsafe posix_spawnattr_setsigmask(&attributes, &none)
    unsafe posix_spawnattr_setsigdefault(&attributes, &all)
    unsafe posix_spawnattr_setflags(
      &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
    var child = pid_t()
    let argv = unsafe arguments.map { unsafe strdup($0) } + [nil]
    let envp = unsafe environment.map { unsafe strdup($0) } + [nil]
    defer { unsafe (argv + envp).forEach { unsafe free($0) } }
    let code = unsafe posix_spawn(&child, arguments[0], &actions, &attributes, argv, envp)
    return (child, code)
  }
}
