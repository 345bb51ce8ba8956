import Glibc

/// C strings with a nil after the last, for as long as this lives.
@safe final class CStrings {
  let base: UnsafeMutablePointer<UnsafePointer<CChar>?>
  private let count: Int

  init(_ texts: [String]) {
    count = texts.count
    unsafe base = .allocate(capacity: texts.count + 1)
    for (index, text) in texts.enumerated() {
      unsafe (base + index).initialize(to: UnsafePointer(strdup(text)))
    }
    unsafe (base + texts.count).initialize(to: nil)
  }

  deinit {
    for index in 0..<count { unsafe free(UnsafeMutablePointer(mutating: base[index])) }
    unsafe base.deallocate()
  }
}
