import COpenSSL

/// Randomness for keys, nonces and tokens (RAND_bytes).
package enum SecureRandom {
  /// `count` fresh octets. Stops the process when the system has no randomness: nothing made without it
  /// could be trusted.
  package static func bytes(_ count: Int) -> [UInt8] {
    unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
      let done = unsafe RAND_bytes(buffer.baseAddress, Int32(count))
      precondition(count == 0 || done == 1, "no randomness")
      initialized = count
    }
  }
}
