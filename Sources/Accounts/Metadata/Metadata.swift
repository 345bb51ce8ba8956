package import Encodings

/// The two objects that apps and their backends keep with a user.
package enum Metadata {
  /// Octets of `user_metadata` as it is stored (RULES §3.9).
  package static let limit = 2_048

  /// `changes` merged into `old`, one level deep: a null removes its member, what is no object changes nothing.
  package static func merge(_ changes: JSONValue, into old: JSONValue) -> JSONValue {
    guard case .object(let changes) = changes else { return old }
    var members: [(String, JSONValue)?] = []
    if case .object(let old) = old { members = old }
    // By name: whoever sends thousands of members must not have each compared with each.
    var places = Dictionary(
      members.enumerated().compactMap { place, member in member.map { ($0.0, place) } },
      uniquingKeysWith: { first, _ in first })
    for (name, value) in changes {
      let place = places[name]
      if case .null = value {
        guard let place else { continue }
        members[place] = nil
        places[name] = nil
      } else if let place {
        members[place]?.1 = value
      } else {
        places[name] = members.count
        members.append((name, value))
      }
    }
    return .object(members.compactMap { $0 })
  }

  /// An object without its null members; an empty one for what is no object.
  package static func object(_ value: JSONValue) -> JSONValue { merge(value, into: .object([])) }

  /// Whether it may be stored as `user_metadata`.
  package static func fits(_ value: JSONValue) -> Bool { value.bytes.count <= limit }

  /// The member's value; nil where there is none.
  package static func member(_ name: String, of value: JSONValue) -> JSONValue? {
    guard case .object(let members) = value else { return nil }
    return members.first { $0.0 == name }?.1
  }

  /// `app_metadata` as it goes out: what the backend keeps, after `provider` and `providers`, which are computed
  /// from the identities, oldest first, and stored nowhere.
  package static func app(_ kept: JSONValue, identities: [Identity]) -> JSONValue {
    let rest = merge(["provider": .null, "providers": .null], into: object(kept))
    guard case .object(let members) = rest, let first = identities.first else { return rest }
    var providers: [String] = []
    for identity in identities where !providers.contains(identity.provider) {
      providers.append(identity.provider)
    }
    return .object(
      [
        ("provider", .string(first.provider)), ("providers", .array(providers.map { .string($0) })),
      ] + members)
  }
}
