package import Encodings

/// An object that is kept for a user, without its content.
package struct StoredObject: Sendable, Equatable {
  /// Names it for the store alone.
  package var id: UUID
  /// Whose it is.
  package var user: UUID
  /// Among the objects of this bucket its path is its own.
  package var bucket: String
  package var path: ObjectPath
  package var contentType: ObjectType
  /// Octets of its content.
  package var size: Int64
  /// What made it, by a name that only its maker can say again; nil for what nobody asks for by that.
  package var origin: [UInt8]?
  /// Milliseconds since 1970.
  package var createdAt: Int64

  package init(
    id: UUID, user: UUID, bucket: String, path: ObjectPath, contentType: ObjectType, size: Int64,
    origin: [UInt8]? = nil, createdAt: Int64
  ) {
    self.id = id
    self.user = user
    self.bucket = bucket
    self.path = path
    self.contentType = contentType
    self.size = size
    self.origin = origin
    self.createdAt = createdAt
  }
}

/// An object that is to be kept.
package struct ObjectDraft: Sendable, Equatable {
  /// The object; its size is that of the content.
  package var object: StoredObject
  package var content: [UInt8]

  package init(_ object: StoredObject, content: [UInt8]) {
    self.object = object
    self.object.size = Int64(content.count)
    self.content = content
  }
}
