extension Schema {
  /// Users and what hangs on them. Milliseconds since 1970, but for `auth_time`, which is seconds.
  ///
  /// Ids of users, identities and sessions are on the wire: 16 octets, on SQLite a blob (half of a text, and in
  /// PostgreSQL's order of `uuid`), which is an index beside rows that lie in the order of their making.
  static let accounts = """
    create table users (
      id blob /*uuid*/ not null primary key,
      is_anonymous integer not null,
      email text,
      email_confirmed_at integer,
      real_email text,
      app_metadata text not null,
      user_metadata text not null,
      created_at integer not null,
      updated_at integer not null,
      last_sign_in_at integer,
      banned_until integer,
      deleting_since integer
    ) strict;
    create index users_created_at on users (created_at);
    create index users_email on users (email) where email is not null;

    create table identities (
      id blob /*uuid*/ not null primary key,
      user_id blob /*uuid*/ not null references users (id) on delete cascade,
      provider text not null,
      team_id text not null,
      subject text not null,
      -- The subject's name while its team is transferred: a token that carries it re-keys the row.
      transfer_subject text,
      email text,
      is_private_email integer,
      status integer not null,
      consent_at integer not null,
      data text not null,
      created_at integer not null,
      updated_at integer not null,
      last_sign_in_at integer not null,
      unique (provider, team_id, subject)
    ) strict;
    create index identities_user on identities (user_id);
    create index identities_subject on identities (subject);
    create index identities_transfer on identities (transfer_subject) where transfer_subject is not null;

    -- successor: no reference, for it may be ended before its predecessor (RULES §3.8).
    create table sessions (
      id blob /*uuid*/ not null primary key,
      user_id blob /*uuid*/ not null references users (id) on delete cascade,
      created_at integer not null,
      refreshed_at integer not null,
      counter integer not null,
      auth_time integer not null,
      methods text not null,
      key_id blob,
      acknowledged_at integer,
      successor blob /*uuid*/
    ) strict;
    create index sessions_user on sessions (user_id);
    create index sessions_successor on sessions (successor) where successor is not null;

    -- Kept when the user goes: a token stays used until it expires (RULES §2.1).
    create table used_identity_tokens (
      hash blob not null primary key,
      use integer not null,
      request_hash blob not null,
      session blob /*uuid*/,
      bearer blob /*uuid*/,
      used_at integer not null,
      expires_at integer not null
    ) strict;
    create index used_identity_tokens_expiry on used_identity_tokens (expires_at);

    create table apple_challenges (
      hash blob not null primary key,
      purpose text not null,
      client_id text,
      session blob /*uuid*/,
      expires_at integer not null
    ) strict;
    create index apple_challenges_expiry on apple_challenges (expires_at);

    create table switch_tickets (
      hash blob not null primary key,
      bearer blob /*uuid*/ not null,
      provider text not null,
      team_id text not null,
      subject text not null,
      user_id blob /*uuid*/ not null references users (id) on delete cascade,
      issued_at integer not null,
      auth_time integer not null,
      expires_at integer not null,
      used_at integer,
      opened blob /*uuid*/
    ) strict;
    create index switch_tickets_user on switch_tickets (user_id);
    create index switch_tickets_expiry on switch_tickets (expires_at);

    create table apple_tokens (
      id integer primary key,
      identity blob /*uuid*/ not null references identities (id) on delete cascade,
      client_id text not null,
      sealing_key text not null,
      sealed blob not null,
      suspect integer not null default 0,
      next_check integer not null,
      updated_at integer not null,
      unique (identity, client_id)
    ) strict;
    create index apple_tokens_next_check on apple_tokens (next_check);

    -- What Apple told of its users, also of those that are unknown here (RULES §2.3).
    create table apple_events (
      id integer primary key,
      jti text not null unique,
      type text not null,
      team_id text not null,
      subject text not null,
      event_time integer not null,
      received_at integer not null,
      applied_at integer
    ) strict;
    create index apple_events_subject on apple_events (team_id, subject, event_time);

    create table web_flows (
      id blob /*uuid*/ not null primary key,
      state_hash blob not null unique,
      browser_hash blob,
      nonce text not null,
      client_id text not null,
      redirect_to text not null,
      code_challenge text,
      is_s256 integer not null,
      linking blob /*uuid*/,
      expires_at integer not null,
      answered_at integer,
      code_hash blob unique,
      assertion text
    ) strict;
    create index web_flows_expiry on web_flows (expires_at);

    create table signing_keys (
      kid text not null primary key,
      sealing_key text,
      material blob not null,
      active_from integer not null,
      published_until integer
    ) strict;

    create table refresh_secrets (
      generation integer primary key,
      secret blob not null
    ) strict;

    create table audit_log (
      id integer primary key,
      time integer not null,
      action text not null,
      user_id blob /*uuid*/,
      session blob /*uuid*/,
      address text,
      reason text
    ) strict;
    create index audit_log_time on audit_log (time);
    create index audit_log_user on audit_log (user_id) where user_id is not null;

    create table admin_keys (
      id integer primary key,
      name text not null unique,
      hash blob not null unique,
      created_at integer not null
    ) strict;
    """

  /// `uid()` for row-level security, and what PostgREST's roles may do here, where the server has them: use the
  /// schema and this function, nothing else (RULES §3.11).
  static let accountsOnPostgreSQL = """
    create function uid() returns uuid language sql stable as $$
      select nullif(coalesce(
        nullif(current_setting('request.jwt.claim.sub', true), ''),
        nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'sub'), '')::uuid
    $$;
    revoke all on function uid() from public;
    do $$
    declare member text;
    begin
      foreach member in array array['anon', 'authenticated'] loop
        if exists (select 1 from pg_roles where rolname = member) then
          begin
            execute format('grant usage on schema %I to %I', current_schema(), member);
            execute format('grant execute on function uid() to %I', member);
          exception when insufficient_privilege then
            raise warning 'schema usage was not granted to %', member;
          end;
        end if;
      end loop;
    end $$;
    """
}
