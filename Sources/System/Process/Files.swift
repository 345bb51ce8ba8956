import Glibc

/// The few things a server does with files. Calls block: use them at the start and off the loops.
package enum Files {
  /// Why a file could not be read or written.
  package enum Failure: Error, Equatable, Sendable, CustomStringConvertible {
    /// It is longer than the caller takes; the limit in octets.
    case tooLarge(limit: Int)
    /// It is a directory, a device or the like.
    case notAFile
    /// The system's answer.
    case system(SystemError)

    /// One line for a person.
    package var description: String {
      switch self {
      case .tooLarge(let limit): "more than \(limit) octets"
      case .notAFile: "this is no file"
      case .system(let error): "\(error)"
      }
    }
  }

  /// The whole regular file, if it is no more than `limit` octets.
  package static func read(_ path: String, upTo limit: Int) throws(Failure) -> [UInt8] {
    // O_NONBLOCK: opening a FIFO nobody writes to must not hang.
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw .system(.last("open")) }
    defer { close(descriptor) }
    var information = stat()
    guard unsafe fstat(descriptor, &information) == 0 else { throw .system(.last("fstat")) }
    guard information.st_mode & S_IFMT == S_IFREG else { throw .notAFile }
    var content: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = unsafe Glibc.read(descriptor, &buffer, buffer.count)
      if count < 0 {
        if errno == EINTR { continue }
        throw .system(.last("read"))
      }
      if count == 0 { return content }
      guard count <= limit - content.count else { throw .tooLarge(limit: limit) }
      content.append(contentsOf: buffer[..<count])
    }
  }

  /// Replaces the file at once and durably: a crash leaves the old content or the new, never a mixture.
  ///
  /// The mode is 0600 by default, since what a server writes is a secret more often than not.
  package static func write(_ bytes: [UInt8], to path: String, mode: UInt32 = 0o600) throws(Failure) {
    let temporary = path + ".\(getpid()).\(UInt64.random(in: 0 ... .max))"
    let descriptor = unsafe open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode)
    guard descriptor >= 0 else { throw .system(.last("open")) }
    do throws(SystemError) {
      defer { close(descriptor) }
      // The umask may have taken bits away.
      guard fchmod(descriptor, mode) == 0 else { throw .last("fchmod") }
      try writeAll(bytes, to: descriptor)
      guard fsync(descriptor) == 0 else { throw .last("fsync") }
      guard unsafe rename(temporary, path) == 0 else { throw .last("rename") }
    } catch {
      unsafe unlink(temporary)
      throw .system(error)
    }
    syncDirectory(of: path)
  }

  /// Creates the directory and those above it, each with mode 0700; one that exists stays as it is.
  package static func createDirectory(_ path: String) throws(Failure) {
    var created = ""
    for (index, part) in path.split(separator: "/").enumerated() {
      created += index == 0 && !path.hasPrefix("/") ? String(part) : "/" + part
      if unsafe mkdir(created, 0o700) == 0 || errno == EEXIST || errno == EISDIR { continue }
      throw .system(.last("mkdir"))
    }
    var information = stat()
    guard unsafe stat(path, &information) == 0 else { throw .system(.last("stat")) }
    guard information.st_mode & S_IFMT == S_IFDIR else {
      throw .system(SystemError(call: "mkdir", code: ENOTDIR))
    }
  }

  /// Whether something is at that path.
  package static func exists(_ path: String) -> Bool { unsafe access(path, F_OK) == 0 }

  /// Removes a file; false where there was none.
  @discardableResult
  package static func remove(_ path: String) throws(Failure) -> Bool {
    if unsafe unlink(path) == 0 { return true }
    if errno == ENOENT { return false }
    throw .system(.last("unlink"))
  }

  /// Gives a whole file another name of its file system, at once and durably; false, and nothing is changed,
  /// where something has that name and is not to be replaced.
  package static func move(_ path: String, to target: String, replacing: Bool) throws(Failure) -> Bool {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else { throw .system(.last("open")) }
    let synced = fsync(descriptor)
    close(descriptor)
    guard synced == 0 else { throw .system(.last("fsync")) }
    if replacing {
      guard unsafe rename(path, target) == 0 else { throw .system(.last("rename")) }
    } else {
      // Unlike a look before a rename, this cannot replace a file that came meanwhile.
      guard unsafe link(path, target) == 0 else {
        if errno == EEXIST { return false }
        throw .system(.last("link"))
      }
      unsafe unlink(path)
    }
    syncDirectory(of: target)
    return true
  }

  /// Writes everything to a descriptor, waiting as long as it takes.
  package static func writeAll(_ bytes: [UInt8], to descriptor: Int32) throws(SystemError) {
    var written = 0
    while written < bytes.count {
      let count = unsafe bytes.withUnsafeBytes { buffer in
        unsafe Glibc.write(
          descriptor, buffer.baseAddress.map { unsafe $0 + written }, bytes.count - written)
      }
      if count < 0 {
        if errno == EINTR { continue }
        throw .last("write")
      }
      written += count
    }
  }

  /// Makes a rename in the directory durable; a file system that cannot do it is not an error.
  private static func syncDirectory(of path: String) {
    let end = path.lastIndex(of: "/")
    let directory = end.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    let descriptor = unsafe open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    fsync(descriptor)
    close(descriptor)
  }
}

/// What a program asks about the terminal it was started from.
package enum Terminal {
  /// Whether a descriptor (0 input, 1 output, 2 errors) is a terminal.
  package static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }
}
