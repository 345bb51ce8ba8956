extension Schema {
  /// How the sweep ends a reservation whose server died (see `ReservationEnding`), and calls of a queue by what they
  /// reserved.
  static let reservationEndings = """
    alter table reservations add column ending blob;
    create index queued_calls_reservation on queued_calls (reservation);
    """
}
