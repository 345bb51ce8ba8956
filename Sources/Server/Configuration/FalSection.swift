import Encodings
import Gateway

extension Configuration {
  /// Reads what only `providers.fal` has.
  static func fal(_ section: ConfigurationSection, _ deployment: Deployment, into out: inout Fal) {
    if let text = baseURL(section, "queue_url", deployment, example: out.queueURL) { out.queueURL = text }
    if let inputs = section.objects("inputs", input) { out.inputs = inputs }
    if let entry = section.entry("file_hosts") {
      out.fileHosts = Set(entry.strings().map { $0.text.lowercased() })
    }
    if let value = section.entry("file_limit")?.integer(1024...268_435_456) { out.fileLimit = Int(value) }
    guard !section.reading.survey else { return }
    let models = "\(section.path).models"
    for model in out.models where !FalApp.isName(model) {
      section.reading.mistake(
        models, section.here, "\"\(model)\" is no name of a model",
        "write it as fal does, such as \"\(Fal.exampleModel)\"")
    }
    for input in out.inputs where !out.models.contains(input.model) {
      section.reading.mistake(
        "\(section.path).inputs", section.here, "\"\(input.model)\" is not among models", "add it there")
    }
    if out.policy == .none {
      section.reading.mistake(
        "\(section.path).policy", section.here, "nobody would own a call in the queue",
        "write \"assertion\" or \"session\"")
    }
    check(megapixels: out, section)
  }

  /// What is priced by size needs a bound of it.
  private static func check(megapixels out: Fal, _ section: ConfigurationSection) {
    for input in out.inputs where input.maximumPixels == 0 {
      let row = out.priceTable.row(provider: Fal.name, model: input.model, at: .max)
      guard row?.unit?.unit == FalUnit.megapixel.rawValue else { continue }
      section.reading.mistake(
        "\(section.path).inputs", section.here,
        "\"\(input.model)\" is priced by the megapixel, and has no bound",
        "write max_pixels, or a price by the image")
    }
  }

  private static func input(_ section: ConfigurationSection) -> Fal.Input? {
    let model = section.entry("model")
    var out = Fal.Input(model: model?.string() ?? "")
    if let value = section.entry("max_images")?.integer(0...16) { out.maximumImages = value }
    if let value = section.entry("max_pixels")?.integer(0...268_435_456) { out.maximumPixels = value }
    if let value = section.entry("max_steps")?.integer(0...1_000) { out.maximumSteps = value }
    if let value = section.entry("prompt_limit")?.integer(1...65_536) { out.promptLimit = Int(value) }
    if let entry = section.entry("choices") { out.choices = choices(entry) }
    if section.reading.survey { return nil }
    if model == nil {
      section.reading.mistake(section.path, section.here, "the model is missing", "write one of models")
      return nil
    }
    return out
  }

  private static func choices(_ entry: ConfigurationEntry) -> [String: [String]] {
    guard let members = entry.value.members else {
      entry.reading.mistake(
        entry, "an object belongs here", "write { \"aspect_ratio\": [\"1:1\", \"16:9\"] }")
      return [:]
    }
    var choices: [String: [String]] = [:]
    for member in members {
      let texts = member.value.elements?.map(\.string) ?? [nil]
      guard FalApp.isChoice(member.name), !texts.isEmpty, !texts.contains(nil) else {
        entry.reading.mistake(
          "\(entry.path).\(member.name)", entry.place, "this is no field with the texts that it may have",
          "write a list of texts; prompt, sizes, numbers and addresses have rules of their own")
        continue
      }
      choices[member.name] = texts.compactMap(\.self)
    }
    return choices
  }

  /// A row of fal's prices: dollars for an image, a megapixel or a call.
  static func falPrice(_ section: ConfigurationSection) -> PriceRow? {
    let model = section.entry("model")
    let unit = section.entry("unit")
    let dollars = section.entry("dollars")
    let from = section.entry("from").map(day)
    let source = section.entry("source")?.string()
    if section.reading.survey { return nil }
    guard let model, let unit, let dollars else {
      section.reading.mistake(
        section.path, section.here, "a part is missing", "write model, unit and dollars")
      return nil
    }
    guard let name = model.string(), let kind = unit.choice(FalUnit.self), let text = dollars.string(),
      from != .some(nil)
    else { return nil }
    guard let price = picoDollars(text) else {
      section.reading.mistake(
        dollars, "this is no price", "write dollars for one unit in quotes such as \"0.003\"")
      return nil
    }
    return PriceRow(
      provider: Fal.name, model: name, unit: UnitPrice(unit: kind.rawValue, price: price),
      effectiveFrom: (from ?? nil) ?? 0, source: source ?? "configuration")
  }
}
