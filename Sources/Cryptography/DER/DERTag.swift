/// The identifier octets of an ASN.1 value (X.690 §8.1.2).
package struct DERTag: Sendable, Hashable {
  /// Which table the number is of.
  package enum Class: UInt8, Sendable {
    case universal = 0
    case application = 1
    case contextSpecific = 2
    case `private` = 3
  }

  package var `class`: Class
  package var isConstructed: Bool
  package var number: UInt32

  package init(class: Class, isConstructed: Bool, number: UInt32) {
    self.class = `class`
    self.isConstructed = isConstructed
    self.number = number
  }

  /// A constructed value with a number of the surrounding type: `[number]`, explicit.
  package static func context(_ number: UInt32) -> DERTag {
    DERTag(class: .contextSpecific, isConstructed: true, number: number)
  }

  package static let boolean = DERTag(class: .universal, isConstructed: false, number: 1)
  package static let integer = DERTag(class: .universal, isConstructed: false, number: 2)
  package static let bitString = DERTag(class: .universal, isConstructed: false, number: 3)
  package static let octetString = DERTag(class: .universal, isConstructed: false, number: 4)
  package static let null = DERTag(class: .universal, isConstructed: false, number: 5)
  package static let objectIdentifier = DERTag(class: .universal, isConstructed: false, number: 6)
  package static let utf8String = DERTag(class: .universal, isConstructed: false, number: 12)
  package static let sequence = DERTag(class: .universal, isConstructed: true, number: 16)
  package static let set = DERTag(class: .universal, isConstructed: true, number: 17)
}
