extension Schema {
  /// Why a user goes where nobody asked for it, and which keys are whose.
  static let leavingUsers = """
    alter table deletions add column reason text;
    create index device_states_user on device_states (user_id) where user_id is not null;
    """
}
