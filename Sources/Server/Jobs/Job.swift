package import Admission

/// Work that is done again and again; the executable runs it.
package struct Job: Sendable {
  /// Who does it.
  package enum Nodes: Sendable {
    /// Every node for itself: what it looks after is the node's own.
    case everyNode
    /// One node for all, by a lease (``JobRunner``).
    case oneNode
  }

  /// For the log and the table of jobs.
  package let name: String
  /// Seconds from the end of one run to the start of the next.
  package let interval: Int64
  package let nodes: Nodes
  private let work: @Sendable () async -> JobOutcome

  package init(
    name: String, interval: Int64, nodes: Nodes, work: @escaping @Sendable () async -> JobOutcome
  ) {
    self.name = name
    self.interval = interval
    self.nodes = nodes
    self.work = work
  }

  /// One run, without asking whether it is due. It deals with its own errors.
  @discardableResult package func run() async -> JobOutcome { await work() }
}
