import COpenSSL

/// Digest algorithms, fetched once: OpenSSL 3 looks an algorithm up by name again at each implicit use.
enum Digest {
  nonisolated(unsafe) static let sha256 = unsafe EVP_MD_fetch(nil, "SHA256", nil)
  nonisolated(unsafe) static let sha384 = unsafe EVP_MD_fetch(nil, "SHA384", nil)
}

/// Empties this thread's error queue, which would otherwise grow with every refused input and be read as
/// the reason of somebody else's failure.
func clearErrors() { ERR_clear_error() }
