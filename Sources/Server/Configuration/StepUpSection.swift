extension Configuration {
  /// Reads an element of `auth.step_up_routes`.
  static func stepUpRoute(_ section: ConfigurationSection) -> Auth.StepUpRoute? {
    let route = section.entry("route")
    let age = section.entry("maximum_age")
    if section.reading.survey { return nil }
    guard let route, let text = route.string() else {
      section.reading.mistake(
        section.path, section.here, "the route is missing", "write { \"route\": \"/auth/v1/user\" }")
      return nil
    }
    return Auth.StepUpRoute(route: text, maximumAge: age.flatMap { $0.integer(30...86_400) } ?? 300)
  }

  /// A route that is misspelt would be open: it is a mistake.
  static func checkStepUpRoutes(_ root: ConfigurationSection, _ out: Configuration) {
    guard !root.reading.survey, let auth = out.auth else { return }
    let known = out.freshPaths
    for (index, asked) in auth.stepUpRoutes.enumerated() where !known.contains(asked.route) {
      root.reading.mistake(
        "auth.step_up_routes[\(index)].route", .missing, "there is no route \"\(asked.route)\" with a bearer",
        "write one of \(known.joined(separator: ", "))")
    }
  }
}
