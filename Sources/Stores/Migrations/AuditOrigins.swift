extension Schema {
  /// Who did it, with what, and what became of it. Lines of before have no actor.
  static let auditOrigins = """
    alter table audit_log add column actor text;
    -- The name of the operator's key, where the actor is one.
    alter table audit_log add column operator text;
    alter table audit_log add column device blob;
    alter table audit_log add column result text not null default 'done';
    create index audit_log_action on audit_log (action, id);
    """
}
