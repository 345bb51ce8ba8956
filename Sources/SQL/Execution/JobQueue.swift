/// Where jobs wait for whoever does them.
protocol JobQueue: AnyObject, Sendable {
  /// False when closed: the job was not taken.
  func post(_ job: any Job) -> Bool
}
