import Encodings
import Gateway

/// What a function asks of its model.
enum FunctionKind: String, CaseIterable {
  case text
  case chat
  case image
}

extension ConfigurationSection {
  func prompt(_ kind: FunctionKind) -> FunctionDefinition.Prompt? {
    let system = template("system", isNeeded: false)
    let messages = objects("messages") { message -> FunctionDefinition.Message? in
      let role = message.entry("role")?.choice(FunctionDefinition.Role.self) ?? .user
      return message.template("text", isNeeded: true).map { FunctionDefinition.Message(role, $0) }
    }
    let text = template("template", isNeeded: kind != .chat)
    if survey { return nil }
    switch kind {
    case .text:
      unused("messages", messages != nil, "it is for \"kind\": \"chat\"")
      return text.map { .messages(system: system, [.init(.user, $0)]) }
    case .chat:
      unused("template", text != nil, "write messages instead")
      guard let messages, messages.last?.role == .user else {
        reading.mistake(
          fullPath("messages"), here, "the last message is not the user's",
          "write [{ \"role\": \"user\", \"text\": \"…\" }]")
        return nil
      }
      return .messages(system: system, messages)
    case .image:
      unused("messages", messages != nil, "it is for \"kind\": \"chat\"")
      unused("system", system != nil, "a model that draws has none; write it into template")
      return text.map { .image($0) }
    }
  }

  private func unused(_ key: String, _ isWritten: Bool, _ remedy: String) {
    if isWritten { reading.mistake(fullPath(key), here, "\(key) says nothing here", remedy) }
  }

  /// A template as it stands, or of the file that `{ "file": PATH }` names.
  private func template(_ key: String, isNeeded: Bool) -> FunctionTemplate? {
    guard let entry = entry(key) else {
      if isNeeded, !survey {
        reading.mistake(
          fullPath(key), here, "\(key) is missing",
          "write a text with {{name}} where a field of input belongs, or { \"file\": \"…\" }")
      }
      return nil
    }
    var text = entry.value.string
    if let members = entry.value.members {
      guard members.count == 1, let path = entry.value["file"]?.string else {
        reading.mistake(entry, "this is neither a text nor a file", "write \"…\" or { \"file\": \"path\" }")
        return nil
      }
      guard let octets = reading.sources.readFile(path), octets.count <= 1 << 20,
        let content = String(validating: octets, as: UTF8.self)
      else {
        reading.mistake(
          entry, "the file cannot be read", "name a file of UTF-8 text that the server's user may read")
        return nil
      }
      text = content
    }
    guard let text else {
      reading.mistake(
        entry, "a text belongs here, not \(entry.kind)", "write \"…\" or { \"file\": \"path\" }")
      return nil
    }
    do throws(FunctionTemplate.Flaw) {
      return try FunctionTemplate(text)
    } catch {
      switch error {
      case .unclosed: reading.mistake(entry, "a place {{ has no end", "write {{name}}")
      case .name(let name):
        reading.mistake(entry, "{{\(name.prefix(40))}} is no place", "write the name of a field of input")
      }
      return nil
    }
  }
}
