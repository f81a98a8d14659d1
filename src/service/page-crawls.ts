import type { Caller } from '#domain/account.ts';
import type { CrawlState } from '#domain/crawl.ts';
import { type CursorScope, decodeCursor, encodeCursor } from '#domain/cursor.ts';
import { Refusal } from '#domain/errors.ts';
import type { CrawlId, SiteId } from '#domain/ids.ts';
import type { Snapshot } from '#domain/snapshot.ts';
import type { CrawlFilter, CrawlPosition, Store } from '#store/store.ts';
import { DEFAULT_LIMIT, MOST_LIMIT } from './list.ts';
import { requireScope } from './require-scope.ts';

export type CrawlsFilter = {
  readonly state?: CrawlState | undefined;
  readonly siteId?: SiteId | undefined;
  readonly host?: string | undefined;
};

/** Relay's arguments of a connection; without `first` and `last` the first 50 are given. */
export type PageCrawlsInput = {
  /** A whole number ≥ 0; above 200 it becomes 200. Goes with `after`. */
  readonly first?: number | undefined;
  readonly after?: string | undefined;
  /** The same from the other end. Goes with `before`, `after` or both. */
  readonly last?: number | undefined;
  readonly before?: string | undefined;
  readonly filter?: CrawlsFilter | undefined;
};

export type CrawlsPage = {
  /** Newest first, whichever end was asked for. */
  readonly items: readonly Snapshot[];
  readonly cursorOf: (item: Snapshot) => string;
  /** Whether there are older ones after the last item, and newer ones before the first; as of the read. */
  readonly hasNext: boolean;
  readonly hasPrevious: boolean;
};

/** A part of the list in either direction. Throws `invalid_request`, `invalid_cursor`. */
export type PageCrawls = (input: PageCrawlsInput, caller: Caller) => Promise<CrawlsPage>;

/** How many crawls match, counted up to 10,000. */
export type CountCrawls = (filter: CrawlsFilter, caller: Caller) => Promise<number>;

const MOST_COUNTED = 10_000;

/** Older than every crawl. */
const END: CrawlPosition = { startedAt: -1, id: '' as CrawlId };

type Deps = { readonly store: Pick<Store, 'listCrawls' | 'countCrawls'> };

export function createPageCrawls({ store }: Pick<Deps, 'store'>): PageCrawls {
  return async (input, caller) => {
    requireScope(caller, 'crawls:read');
    const { size, backwards } = read(input);
    const { organizationId } = caller;
    const filter = storeFilter(input.filter);
    const scope = scopeOf(organizationId, filter);
    const after = positionOf(input.after, 'after', scope);
    const before = positionOf(input.before, 'before', scope);
    const list = (bounds: { after?: CrawlPosition; before?: CrawlPosition }, limit: number) =>
      store.listCrawls({ ...filter, ...bounds, organizationId, limit });

    // one more than asked for, which tells whether the list goes on in that direction
    const bounds = { ...(after && { after }), ...(backwards && { before: before ?? END }) };
    const found = await list(bounds, size + 1);
    const goesOn = found.length > size;
    const items = backwards ? found.slice(goesOn ? 1 : 0) : found.slice(0, size);
    /** What lies on the other side of the place that was given: of the item there, or what has taken the place of a deleted one. */
    const behind = backwards
      ? before !== null && (await list({ after: items.at(-1) ?? above(before) }, 1)).length > 0
      : after !== null && (await list({ before: items[0] ?? below(after) }, 1)).length > 0;
    return {
      items,
      cursorOf: ({ startedAt, id }) => encodeCursor([startedAt, id], scope),
      hasNext: backwards ? behind : goesOn,
      hasPrevious: backwards ? goesOn : behind,
    };
  };
}

export function createCountCrawls({ store }: Pick<Deps, 'store'>): CountCrawls {
  return async (filter, caller) => {
    requireScope(caller, 'crawls:read');
    return store.countCrawls(caller.organizationId, storeFilter(filter), MOST_COUNTED);
  };
}

/** Places just beside one, so that what lies at it is included. */
const above = ({ startedAt, id }: CrawlPosition): CrawlPosition => ({ startedAt, id: `${id}~` as CrawlId });
const below = ({ startedAt, id }: CrawlPosition): CrawlPosition => ({ startedAt, id: id.slice(0, -1) as CrawlId });

function read({ first, last, before }: PageCrawlsInput): { size: number; backwards: boolean } {
  const wrong = (parameter: string, detail: string): Refusal =>
    new Refusal('invalid_request', `${parameter} ${detail}.`, { errors: [{ detail, parameter }] });
  if (first !== undefined && last !== undefined) throw wrong('last', 'cannot be combined with first');
  if (before !== undefined && last === undefined) throw wrong('before', 'goes with last; with first use after');
  const size = first ?? last ?? DEFAULT_LIMIT;
  if (size < 0) throw wrong(first === undefined ? 'last' : 'first', 'must be at least 0');
  return { size: Math.min(size, MOST_LIMIT), backwards: last !== undefined };
}

const storeFilter = ({ state, siteId, host }: CrawlsFilter = {}): CrawlFilter => ({
  ...(state !== undefined && { state }),
  ...(siteId !== undefined && { siteId }),
  ...(host !== undefined && { host }),
});

const scopeOf = (organizationId: string, { state, siteId, host }: CrawlFilter): CursorScope => ({
  list: 'crawls',
  organizationId,
  filter: { state: state ?? null, siteId: siteId ?? null, host: host ?? null },
});

function positionOf(cursor: string | undefined, parameter: 'after' | 'before', scope: CursorScope): CrawlPosition | null {
  if (cursor === undefined) return null;
  try {
    const [startedAt, id] = decodeCursor(cursor, scope, ['number', 'string']) as [number, CrawlId];
    return { startedAt, id };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const errors = [{ parameter, detail: 'must be a cursor of this connection, with the same filter' }];
    throw new Refusal(error.code, error.message, { errors });
  }
}
