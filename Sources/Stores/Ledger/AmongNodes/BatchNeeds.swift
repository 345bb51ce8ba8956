import Admission
import Gateway

/// What the attempts at a batch found to be lacking, for nothing is asked of the database while it is decided: the batch
/// begins anew, and has all of it locked or loaded in its turn.
struct BatchNeeds: Equatable {
  /// A period is to be made, which takes the ledger's lock alone.
  var isAlone = false
  /// Rows were not as they were seen last, and lines are others: those are to be asked for once it is known whose they
  /// are, or they would be locked out of turn.
  var isWithoutGuess = false
  /// Users who become keys', to be locked before the keys.
  var users: Set<String> = []
  /// How often somebody else held some of the users or sessions.
  var waits = 0
  /// Lines that rows and requests do not foretell.
  var lines: Set<NamedLine> = []
  /// Lines of which an alarm has to tell whose they are.
  var owners: Set<LineRows.Key> = []

  var isEmpty: Bool {
    !isAlone && !isWithoutGuess && users.isEmpty && waits == 0 && lines.isEmpty && owners.isEmpty
  }

  /// Whether it was not known that these are lacking. Where it was, somebody else is in the way.
  mutating func add(_ more: BatchNeeds) -> Bool {
    let known = self
    isAlone = isAlone || more.isAlone
    isWithoutGuess = isWithoutGuess || more.isWithoutGuess
    users.formUnion(more.users)
    lines.formUnion(more.lines)
    owners.formUnion(more.owners)
    if self != known { return true }
    waits += more.waits
    return false
  }
}

/// The batch lacks something, and has to begin anew.
struct Lacking: Error {}

/// A line by names, since numbers go with the attempt that gave them.
struct NamedLine: Hashable {
  var subject: LineSubject
  var rule: String
  /// nil where the rule has no periods.
  var window: Window?
  /// When the window is asked for, milliseconds since 1970, while another may govern; nil for exactly this one.
  var time: Int64?
}
