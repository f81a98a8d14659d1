/**
 * The schema in numbered steps: step n takes a database from `user_version` n − 1 to n. A step that was released is never edited;
 * a change is a new step.
 *
 * Crawls have a small integer key `n` inside, which never comes back (AUTOINCREMENT), because pages and findings of a removed crawl
 * are swept later (`trash`), and those of one that is copied in come before it (`incoming`). Times are milliseconds since 1970, booleans 0 or 1.
 */
export const MIGRATIONS: readonly string[] = [
  `
  create table organizations (
    id text primary key, name text not null unique, monthly_url_quota integer not null, created_at integer not null,
    last_event_seq integer not null default 0
  ) without rowid;

  create table api_keys (
    id text primary key, organization_id text not null references organizations (id), name text not null,
    secret_hash text not null unique, prefix text not null, scopes text not null, created_at integer not null, revoked_at integer
  ) without rowid;
  create index api_keys_of_organization on api_keys (organization_id, created_at, id);

  create table start_rings (key_id text primary key, next integer not null, slots text not null) without rowid;

  create table idempotency (
    organization_id text not null, key text not null, request_hash text not null, crawl_id text not null, created_at integer not null,
    primary key (organization_id, key)
  ) without rowid;
  create index idempotency_by_age on idempotency (created_at);

  create table sites (
    id text primary key, organization_id text not null, host text not null, authority text not null,
    first_crawled_at integer not null, last_crawled_at integer not null
  ) without rowid;
  create unique index sites_of_organization on sites (organization_id, authority);

  create table crawls (
    n integer primary key autoincrement, id text not null unique, organization_id text not null, site_id text not null,
    url text not null, host text not null, authority text not null,
    state text not null, phase text not null, end_reason text, error text, max_urls integer not null, max_depth integer not null,
    discovered integer not null default 0, fetched integer not null default 0, redirected integer not null default 0,
    failed integer not null default 0, blocked integer not null default 0, frontier_truncated integer not null default 0,
    findings_count integer, cancel_requested integer not null default 0, started_at integer not null, finished_at integer,
    version integer not null, changed_at integer not null,
    lease_token text, lease_expires_at integer, run integer not null default 0, losses integer not null default 0,
    batch integer not null default 0, batch_token text, ending text
  );
  create index crawls_listed on crawls (organization_id, started_at, id);
  create index crawls_by_state on crawls (organization_id, state, started_at, id);
  create index crawls_by_site on crawls (organization_id, site_id, started_at, id);
  create index crawls_by_site_state on crawls (organization_id, site_id, state, started_at, id);
  create index crawls_by_host on crawls (organization_id, host, started_at, id);
  create index crawls_by_host_state on crawls (organization_id, host, state, started_at, id);
  create index crawls_changed on crawls (organization_id, changed_at);
  create index crawls_finished on crawls (finished_at) where finished_at is not null;
  create index crawls_claimable on crawls (organization_id, started_at, id) where state = 'running' and lease_token is null;
  create index crawls_leased on crawls (organization_id) where lease_token is not null;
  create index crawls_leased_on on crawls (authority) where lease_token is not null;
  create index crawls_lease_end on crawls (lease_expires_at) where lease_token is not null;
  create unique index crawls_token on crawls (lease_token) where lease_token is not null;

  create table pages (
    crawl integer not null, seq integer not null, url text not null, url_hash integer not null, depth integer not null,
    status text not null, redirects integer not null, found_on integer, reason text,
    http_status integer, content_type text, redirect_url text, fetched_at integer, duration_ms integer,
    bytes integer not null default 0, truncated integer not null default 0, links_truncated integer not null default 0,
    facts text, links blob, other_links text,
    primary key (crawl, seq)
  ) without rowid;
  create index pages_by_url on pages (crawl, url_hash);
  create index pages_by_status on pages (crawl, status, seq);

  create table findings (
    crawl integer not null, run integer not null, ordinal integer not null, fingerprint text not null, rule text not null,
    severity text not null, page_seq integer, url text, evidence text not null,
    primary key (crawl, run, ordinal)
  ) without rowid;
  create index findings_by_severity on findings (crawl, run, severity, ordinal);
  create index findings_by_rule on findings (crawl, run, rule, ordinal);
  create table trash (crawl integer primary key);

  create table usage (
    organization_id text not null, month text not null, used integer not null default 0, reserved integer not null default 0,
    primary key (organization_id, month)
  ) without rowid;
  create table holds (
    crawl integer not null, month text not null, granted integer not null, used integer not null default 0, closed_at integer,
    primary key (crawl, month)
  ) without rowid;
  create index holds_closed on holds (closed_at) where closed_at is not null;

  create table outbox (
    n integer primary key autoincrement, organization_id text not null, key text not null, type text not null,
    crawl_id text not null, at integer not null, snapshot text not null
  );
  create table events (
    organization_id text not null, seq integer not null, key text not null, type text not null, crawl_id text not null,
    at integer not null, snapshot text not null,
    primary key (organization_id, seq)
  ) without rowid;
  create unique index events_by_key on events (organization_id, key);
  create index events_by_age on events (at);

  create table robots (
    origin text primary key, status integer, body text, error text, fetched_at integer not null, expires_at integer not null
  ) without rowid;
  create index robots_by_expiry on robots (expires_at);
  `,
  `
  create table incoming (
    organization_id text not null, crawl_id text not null, n integer not null unique, primary key (organization_id, crawl_id)
  ) without rowid;
  `,
  `
  alter table organizations add column removed_at integer;
  create index organizations_removed on organizations (name) where removed_at is not null;
  `,
];
