import Gateway

/// A provider that may answer a call, and how it is asked.
struct CallLink: Sendable {
  /// Judges the request under the device's name at the provider, nil for none.
  typealias Preparing = @Sendable (String?) throws(ProviderRefusal) -> PreparedCall

  let target: ProviderTarget
  let prepare: Preparing
}

/// Who is asked for an answer, one after the other: the next where the one before fails before it costs anything
/// (RULES §5.6).
struct CallChain: Sendable {
  let first: CallLink
  var fallbacks: [CallLink] = []
}

/// A chain with its money reserved, at the most that any of its calls can come to. One of them is settled.
struct AdmittedChain: Sendable {
  let first: AdmittedCall
  var fallbacks: [AdmittedCall] = []
}

/// What a call of a chain knows of the others.
struct ChainContext: Sendable, Equatable {
  /// The limits that count one provider of the chain alone.
  var rules: [ChargePlan.ProviderRule] = []

  /// Those that the call does not concern, settled by `provider`: what is held for another is released, and a request
  /// counts for those that were asked.
  func spared(settledBy provider: String, asked: Set<String>) -> Set<String> {
    Set(
      rules.filter { $0.provider != provider && ($0.isHeld || !asked.contains($0.provider)) }.map(\.name))
  }
}
