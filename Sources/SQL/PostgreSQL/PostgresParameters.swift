import CPostgres

/// The parameters of a statement in PostgreSQL's binary format, all in one buffer.
struct PostgresParameters {
  private(set) var types: [Oid] = []
  private(set) var formats: [Int32] = []
  private(set) var lengths: [Int32] = []
  /// Where each begins; nil for NULL.
  private(set) var offsets: [Int?] = []
  /// Never empty: no pointer into it is nil.
  private(set) var buffer: [UInt8] = [0]

  init(_ values: [SQLValue]) {
    for value in values {
      let start = buffer.count
      var offset: Int? = start
      switch value {
      case .null:
        offset = nil
        types.append(0)
      case .integer(let number):
        types.append(ObjectID.int8)
        append(number)
      case .real(let number):
        types.append(ObjectID.float8)
        append(Int64(bitPattern: number.bitPattern))
      case .text(let text):
        types.append(ObjectID.text)
        buffer += text.utf8
      case .blob(let bytes):
        types.append(ObjectID.bytea)
        buffer += bytes
      case .uuid(let bytes):
        types.append(ObjectID.uuid)
        buffer += bytes
      case .integers(let numbers):
        types.append(ObjectID.int8Array)
        head(of: ObjectID.int8, count: numbers.count)
        for number in numbers {
          append32(8)
          append(number)
        }
      case .texts(let texts):
        types.append(ObjectID.textArray)
        array(of: ObjectID.text, texts) { $0.buffer += $1.utf8 }
      case .blobs(let blobs):
        types.append(ObjectID.byteaArray)
        array(of: ObjectID.bytea, blobs) { $0.buffer += $1 }
      }
      formats.append(1)
      offsets.append(offset)
      lengths.append(Int32(clamping: buffer.count - start))
      buffer.append(0)
    }
  }

  /// Object identifiers of `pg_type.dat`, which never change.
  enum ObjectID {
    static let bytea: Oid = 17
    static let int8: Oid = 20
    static let text: Oid = 25
    static let uuid: Oid = 2950
    static let float8: Oid = 701
    static let byteaArray: Oid = 1001
    static let textArray: Oid = 1009
    static let int8Array: Oid = 1016
  }

  private mutating func append(_ number: Int64) {
    unsafe withUnsafeBytes(of: number.bigEndian) { unsafe buffer.append(contentsOf: $0) }
  }

  private mutating func append32(_ number: Int32) {
    unsafe withUnsafeBytes(of: number.bigEndian) { unsafe buffer.append(contentsOf: $0) }
  }

  /// One dimension without NULLs: dimensions, flags, element type, count, lower bound. Then comes each with its length.
  private mutating func head(of type: Oid, count: Int) {
    append32(count == 0 ? 0 : 1)
    append32(0)
    append32(Int32(bitPattern: type))
    guard count > 0 else { return }
    append32(Int32(clamping: count))
    append32(1)
  }

  private mutating func array<Element>(
    of type: Oid, _ elements: [Element], _ write: (inout PostgresParameters, Element) -> Void
  ) {
    head(of: type, count: elements.count)
    for element in elements {
      let place = buffer.count
      append32(0)
      write(&self, element)
      let length = UInt32(clamping: buffer.count - place - 4)
      for (index, shift) in [UInt32(24), 16, 8, 0].enumerated() {
        buffer[place + index] = UInt8(truncatingIfNeeded: length >> shift)
      }
    }
  }
}
