extension Schema {
  /// Answers to requests with an `Idempotency-Key`. Milliseconds since 1970; `state`: 0 running, 1 kept,
  /// 2 incomplete.
  static let keptAnswers = """
    create table kept_answers (
      id blob not null primary key,
      body_hash blob not null,
      run blob not null,
      user_id blob /*uuid*/ references users (id) on delete cascade,
      state integer not null,
      sealed blob,
      leased_until integer not null,
      erase_at integer not null
    ) strict;
    create index kept_answers_erase_at on kept_answers (erase_at);
    create index kept_answers_user on kept_answers (user_id) where user_id is not null;
    """
}
