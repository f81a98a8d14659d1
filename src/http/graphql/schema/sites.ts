import { Refusal } from '#domain/errors.ts';
import type { Builder } from './builder.ts';
import { siteIdOf } from './ids.ts';
import type { SiteRef } from './site.ts';

export function addSites(builder: Builder, site: SiteRef): void {
  builder.queryField('site', (t) =>
    t.field({
      type: site,
      nullable: true,
      description: 'A site; null when there is none with this id that the API key can see. Needs the scope `crawls:read`.',
      args: { id: t.arg.id({ required: true, description: 'Its id.' }) },
      async resolve(_parent, { id }, { siteOf }) {
        const siteId = siteIdOf(id);
        return siteId === null ? null : siteOf(siteId);
      },
    }),
  );

  const connection = builder.connectionObject(
    { type: site, name: 'SiteConnection', description: 'A part of the list of sites.' },
    { name: 'SiteEdge', description: 'A site and its place in the list.' },
  );
  builder.queryField('sites', (t) =>
    t.field({
      type: connection,
      description:
        'Every site that the organization has crawled, by authority. Without `first` it gives the first 50. Needs the scope `crawls:read`.',
      args: {
        first: t.arg.int({ description: 'This many from the start of the list, or after `after`; above 200 it becomes 200.' }),
        after: t.arg.string({ description: 'Only what comes after this place.' }),
      },
      async resolve(_parent, { first, after }, { service, caller }) {
        if (first != null && first < 1) throw tooFew();
        const list = await service.listSites({ limit: first ?? undefined, cursor: after ?? undefined }, caller);
        const edges = list.items.map((node) => ({ cursor: list.cursorOf(node), node }));
        return {
          edges,
          pageInfo: {
            hasNextPage: list.nextCursor !== null,
            hasPreviousPage: after != null, // sites stay: the one that the cursor was made of is there
            startCursor: edges[0]?.cursor ?? null,
            endCursor: edges.at(-1)?.cursor ?? null,
          },
        };
      },
    }),
  );
}

const tooFew = (): Refusal =>
  new Refusal('invalid_request', 'first must be at least 1.', { errors: [{ detail: 'must be at least 1', parameter: 'first' }] });
