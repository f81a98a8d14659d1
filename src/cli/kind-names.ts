import type { CopyKind } from '#store/copy-store.ts';

/** What is kept of an organization, as people read it in tables and lines. */
export const KIND_NAMES: Readonly<Record<CopyKind, string>> = {
  organization: 'organizations',
  usage: 'months of usage',
  site: 'sites',
  page: 'pages',
  finding: 'findings',
  crawl: 'crawls',
  idempotency: 'idempotency keys',
  event: 'events',
  startRing: 'start limits',
  key: 'API keys',
};
