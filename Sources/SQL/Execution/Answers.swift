import System

/// Answers the callers of a batch.
enum Answers {
  /// Answers a loop's callers on that loop in one go: resuming each from here would wake it for each, and it
  /// would submit what comes next by ones and twos.
  static func finish(_ jobs: [any Job]) {
    if jobs.count == 1, jobs[0].loop?.isCurrent != false { return jobs[0].finish() }
    var rest = jobs[...]
    while let first = rest.first {
      guard let loop = first.loop else {
        first.finish()
        rest = rest.dropFirst()
        continue
      }
      let own = rest.prefix { $0.loop === loop }
      loop.execute { for job in own { job.finish() } }
      rest = rest.dropFirst(own.count)
    }
  }
}
