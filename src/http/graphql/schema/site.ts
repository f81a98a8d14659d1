import type { SiteRecord } from '#store/store.ts';
import type { Builder } from './builder.ts';

export type SiteRef = ReturnType<typeof addSite>;

export const addSite = (builder: Builder) =>
  builder.objectRef<SiteRecord>('Site').implement({
    description: 'What an organization crawls: a host, and a port where that is not the default. Its first crawl makes it.',
    fields: (t) => ({
      id: t.exposeID('id', { description: 'A UUID; the same in REST.' }),
      host: t.exposeString('host', { description: 'The hostname without port, in punycode.' }),
      authority: t.exposeString('authority', { description: 'The hostname, and the port where that is not the default.' }),
      firstCrawledAt: t.expose('firstCrawledAt', { type: 'DateTime', description: 'When its first crawl was started.' }),
      lastCrawledAt: t.expose('lastCrawledAt', { type: 'DateTime', description: 'When its latest crawl was started.' }),
    }),
  });
