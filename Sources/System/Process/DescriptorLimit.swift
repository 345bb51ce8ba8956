import Glibc

/// How many descriptors, and so connections, a process may have open (RLIMIT_NOFILE).
package struct DescriptorLimit: Sendable, Equatable {
  /// What holds now.
  package var soft: Int
  /// Up to what the process itself may raise that.
  package var hard: Int

  package init(soft: Int, hard: Int) {
    self.soft = soft
    self.hard = hard
  }

  package static var current: DescriptorLimit {
    var limit = rlimit()
    guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
      return DescriptorLimit(soft: 0, hard: 0)
    }
    return DescriptorLimit(soft: Int(clamping: limit.rlim_cur), hard: Int(clamping: limit.rlim_max))
  }

  /// Raises the soft limit as far as the hard one lets it, `wanted` at most: shells and services start with 1,024.
  package static func raise(to wanted: Int = 65_536) {
    let limit = current
    guard limit.soft < min(wanted, limit.hard) else { return }
    var raised = rlimit(rlim_cur: rlim_t(min(wanted, limit.hard)), rlim_max: rlim_t(clamping: limit.hard))
    if limit.hard == Int.max { raised.rlim_max = rlim_t.max }
    _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &raised)
  }
}
