import Admission
import Encodings
import Stores
import System

/// `bramley admin jobs`
struct ShowJobs: Command {
  static let syntax = CommandSyntax(
    words: ["admin", "jobs"], summary: "Show the jobs that run once among all nodes.",
    options: OperatedDatabase.options,
    discussion: """
      Each line has, parted by tabs: the job, its state, when its last run ended, how, by which node,
      and when the next is due.
      """)

  private let arguments: ParsedArguments

  init(_ arguments: ParsedArguments) throws(UsageError) { self.arguments = arguments }

  func run(_ console: Console) async throws -> ExitCode {
    let jobs = try await OperatedDatabase(arguments, console).look { try await SQLJobStore($0).jobs() }
    if jobs.isEmpty { console.note("no server has run a job yet") }
    for job in jobs { console.print(Self.line(job, now: WallClock.milliseconds)) }
    return .success
  }

  /// One line of the list; `now` in milliseconds since 1970.
  static func line(_ job: JobState, now: Int64) -> String {
    let state =
      switch job.leasedUntil {
      case nil: "waiting"
      case .some(let until) where until > now: "running since \(time(job.lastStart))"
      case .some(let until): "its node died, free since \(time(until))"
      }
    return [
      job.name, state, "ended \(time(job.lastEnd))", job.outcome ?? "no outcome yet",
      job.node ?? "no node yet", "next \(time(job.nextRun))",
    ].joined(separator: "\t")
  }

  private static func time(_ milliseconds: Int64?) -> String {
    milliseconds.map { CivilTime(secondsSince1970: $0 / 1_000).rfc3339 } ?? "never"
  }
}
