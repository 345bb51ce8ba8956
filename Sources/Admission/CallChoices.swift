/// One of the models of which any may answer a call (RULES §5.6).
package struct CallChoice: Sendable, Equatable {
  package var model: ProviderModel
  /// What counts calls of the model's provider alone. Every choice of that provider has the same.
  package var charges: [Charge]

  package init(model: ProviderModel, charges: [Charge]) {
    self.model = model
    self.charges = charges
  }
}

/// Which of a request's choices are open to it: those whose model is not closed, and whose provider's own limits have
/// room. The limits of each are held beside those of the others, since any of them may come to answer.
struct OpenChoices {
  /// Their places in the request.
  private(set) var places: [Int] = []
  /// Why the first that is not open is not.
  private(set) var refusal: AdmissionRefusal?
  private(set) var sheets: [ChargeSheet] = []

  init(_ request: AdmissionRequest, _ bearer: Bearer, in book: some AdmissionBook) throws {
    var judged: [String: AdmissionRefusal?] = [:]
    for (place, choice) in request.choices.enumerated() {
      let found =
        try book.isClosed(choice.model)
        ? .modelClosed : try judge(choice, request.now, bearer, &judged, in: book)
      if let found { refusal = refusal ?? found } else { places.append(place) }
    }
  }

  /// A provider's limits are counted once, however many of its models may answer.
  private mutating func judge(
    _ choice: CallChoice, _ now: Int64, _ bearer: Bearer, _ judged: inout [String: AdmissionRefusal?],
    in book: some AdmissionBook
  ) throws -> AdmissionRefusal? {
    if let known = judged[choice.model.provider] { return known }
    var sheet = try ChargeSheet(choice.charges, now: now, bearer, in: book)
    let refusal = try sheet.judge(now: now, in: book)
    judged.updateValue(refusal, forKey: choice.model.provider)
    if refusal == nil { sheets.append(sheet) }
    return refusal
  }
}
