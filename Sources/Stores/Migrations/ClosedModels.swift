extension Schema {
  /// Models that are closed until an operator has looked. Milliseconds since 1970, pico-dollars.
  static let closedModels = """
    create table closed_models (
      provider text not null,
      model text not null,
      closed_at integer not null,
      cost integer not null,
      reserve integer not null,
      primary key (provider, model)
    ) strict;
    """
}
