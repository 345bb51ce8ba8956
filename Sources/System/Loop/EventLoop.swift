import Glibc

/// One thread that waits for descriptors and timers and runs Swift tasks (SE-0417).
///
/// A task that was started with ``run(_:)`` stays on the loop: its async functions, default actors, `async let`
/// and groups included. It leaves the loop through bare `Task {}`, `Task.detached` and global actors with an
/// executor of their own. A thing that belongs to a loop is touched on its thread alone and needs no lock.
///
/// A turn is: descriptors, timers, tasks until there are none (or many have run), then what
/// ``atEndOfTurn(_:)`` gathered.
package final class EventLoop: TaskExecutor, @unchecked Sendable {
  /// What is waiting to run.
  private enum Work {
    case job(UnownedJob)
    case closure(() -> Void)
  }

  // Shared with other threads, under the lock.
  private let lock = Lock()
  private var incoming: [Work] = []
  private var sleeping = false
  private var stopping = false
  private var joined = false

  // The loop's own.
  let poller: Poller
  var registrations: [Registration?] = []
  var nextGeneration: UInt32 = 0
  var timers = TimerHeap()
  private var events: [Poller.Event] = []
  private var ready: [Work] = []
  private var endOfTurn: [() -> Void] = []
  /// Closures of the end of this turn that are still to run.
  private var endingLeft = 0
  /// How many pieces of work, such as requests, wait for what happens on this loop, so that it should not be
  /// kept long by any of them. The loop's own.
  package private(set) var engagements = 0
  private var thread = pthread_t()

  /// After so many pieces of work the descriptors get their turn again.
  private static let workInTurn = 4_096

  /// Starts the thread. Throws where the system gives no descriptors or no thread.
  package init() throws(SystemError) {
    poller = try Poller()
    let context = unsafe Unmanaged.passRetained(self)
    let code = unsafe pthread_create(&thread, nil, threadMain, context.toOpaque())
    guard code == 0 else {
      unsafe context.release()
      throw SystemError(call: "pthread_create", code: code)
    }
  }

  // MARK: From any thread

  /// The loop whose thread this is.
  package static var current: EventLoop? {
    guard let pointer = unsafe pthread_getspecific(currentLoopKey) else { return nil }
    return unsafe Unmanaged<EventLoop>.fromOpaque(pointer).takeUnretainedValue()
  }

  /// Whether this is the loop's thread.
  package var isCurrent: Bool {
    unsafe pthread_getspecific(currentLoopKey) == Unmanaged.passUnretained(self).toOpaque()
  }

  /// Runs the closure on the loop, in this turn or the next; never inside this call.
  package func execute(_ closure: @escaping @Sendable () -> Void) { add(.closure(closure)) }

  /// Runs the closure now when this is the loop's thread, else as ``execute(_:)``.
  package func perform(_ closure: @escaping @Sendable () -> Void) {
    if isCurrent { closure() } else { add(.closure(closure)) }
  }

  /// Takes a task's next piece (SE-0417).
  package func enqueue(_ job: consuming ExecutorJob) { add(.job(UnownedJob(job))) }

  /// Starts a task on the loop. It is nobody's child: cancel it through what is returned.
  @discardableResult
  package func run<Value: Sendable>(
    _ operation: @escaping @Sendable () async -> Value
  ) -> Task<Value, Never> {
    Task(executorPreference: self) { await operation() }
  }

  /// Starts a task that may fail on the loop.
  @discardableResult
  package func runThrowing<Value: Sendable>(
    _ operation: @escaping @Sendable () async throws -> Value
  ) -> Task<Value, any Error> {
    Task(executorPreference: self) { try await operation() }
  }

  /// Ends the loop when nothing is ready to run, and waits for its thread; the loop itself does not wait.
  /// End its tasks and close its descriptors first: what is enqueued later never runs.
  package func stop() {
    lock.withLock { stopping = true }
    poller.wake()
    guard !isCurrent else { return }
    let mine = lock.withLock {
      defer { joined = true }
      return !joined
    }
    if mine { pthread_join(thread, nil) }
  }

  private func add(_ work: Work) {
    if isCurrent { return ready.append(work) }
    let wake = lock.withLock {
      incoming.append(work)
      defer { sleeping = false }
      return sleeping
    }
    if wake { poller.wake() }
  }

  // MARK: On the loop

  /// Runs the closure once when this turn ends: for what is to be handed on in one batch.
  package func atEndOfTurn(_ closure: @escaping () -> Void) {
    assertCurrent()
    endOfTurn.append(closure)
  }

  /// Lets everything else that is ready have its turn, descriptors and timers too: between the pieces of long work. On
  /// the loop only.
  package func turn() async {
    assertCurrent()
    await unsafe withUnsafeContinuation { continuation in
      atEndOfTurn { unsafe continuation.resume() }
    }
  }

  /// Whether nothing that is known of waits for the running piece of work to end. On the loop only.
  package var isQuiet: Bool {
    assertCurrent()
    return ready.isEmpty && endOfTurn.isEmpty && endingLeft == 0
  }

  /// A piece of work begins that waits for what happens on this loop. On the loop only.
  package func engage() {
    assertCurrent()
    engagements += 1
  }

  /// The piece of work ended. On the loop only.
  package func disengage() {
    assertCurrent()
    engagements -= 1
  }

  /// Stops a debug build that touches the loop's own from another thread.
  package func assertCurrent() { assert(isCurrent, "not on the loop's thread") }

  fileprivate func loop() {
    unsafe pthread_setspecific(currentLoopKey, Unmanaged.passUnretained(self).toOpaque())
    while takeTurn() {}
    pthread_setspecific(currentLoopKey, nil)
  }

  /// One turn; false when the loop is to end.
  private func takeTurn() -> Bool {
    var wait = ready.isEmpty && endOfTurn.isEmpty ? timers.millisecondsUntilFirst : 0
    let ending = lock.withLock {
      if stopping { wait = 0 }
      if incoming.isEmpty { sleeping = wait != 0 } else { wait = 0 }
      return stopping && incoming.isEmpty && ready.isEmpty && endOfTurn.isEmpty
    }
    if ending { return false }

    poller.wait(milliseconds: wait, into: &events)
    for event in events { dispatch(event) }
    events.removeAll(keepingCapacity: true)

    let now = MonotonicTime.now
    while let timer = timers.popFirst(until: now) { timer.fire() }

    var more: [Work] = []
    lock.withLock {
      sleeping = false
      swap(&more, &incoming)
    }
    ready.append(contentsOf: more)
    runReady()

    if !endOfTurn.isEmpty {
      var closures: [() -> Void] = []
      swap(&closures, &endOfTurn)
      endingLeft = closures.count
      for closure in closures {
        endingLeft -= 1
        closure()
      }
    }
    return true
  }

  private func runReady() {
    var index = 0
    let executor = unsafe asUnownedTaskExecutor()
    while index < ready.count, index < Self.workInTurn {
      switch ready[index] {
      case .job(let job): unsafe job.runSynchronously(on: executor)
      case .closure(let closure):
        // Let go of what it holds before the next piece runs.
        ready[index] = .closure {}
        closure()
      }
      index += 1
    }
    if index == ready.count {
      ready.removeAll(keepingCapacity: ready.capacity <= 2 * Self.workInTurn)
    } else {
      ready.removeFirst(index)
    }
  }
}

/// The thread-specific value that says which loop a thread is.
private let currentLoopKey: pthread_key_t = {
  var key = pthread_key_t()
  let code = unsafe pthread_key_create(&key, nil)
  precondition(code == 0, "pthread_key_create")
  return key
}()

/// In a function of its own, not a closure: a C callback must belong to no actor (SE-0423).
private func threadMain(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let context = unsafe context else { return nil }
  unsafe Unmanaged<EventLoop>.fromOpaque(context).takeRetainedValue().loop()
  return nil
}
