import Glibc

/// A claim on a file (flock(2)) that lasts as long as the object: it ends with the process, however that ends.
/// One holder has it exclusively, or several share it.
package final class FileLock: Sendable {
  private let descriptor: Int32

  /// Claims the file, which is made with mode 0600 where it is absent; nil when somebody else has the claim.
  package init?(_ path: String, shared: Bool = false) throws(Files.Failure) {
    descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw .system(.last("open")) }
    guard flock(descriptor, (shared ? LOCK_SH : LOCK_EX) | LOCK_NB) != 0 else { return }
    let error = SystemError.last("flock")
    close(descriptor)
    if error.code == EWOULDBLOCK { return nil }
    throw .system(error)
  }

  deinit { close(descriptor) }
}
