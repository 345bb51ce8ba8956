import CLinux
import Glibc

/// The kernel's random source.
package enum SecureRandom {
  /// That many octets nobody can guess (getrandom(2); waits only until the kernel is seeded after boot).
  package static func bytes(_ count: Int) -> [UInt8] {
    unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
      while initialized < count {
        let got = unsafe getrandom(buffer.baseAddress.map { unsafe $0 + initialized }, count - initialized, 0)
        if got < 0 {
          // Without randomness nothing may go on; on Linux this cannot fail otherwise.
          precondition(errno == EINTR, "getrandom")
        } else {
          initialized += got
        }
      }
    }
  }
}
