import type { Caller } from '#domain/account.ts';
import type { CrawlId, SiteId } from '#domain/ids.ts';
import type { StartAllowance } from '#domain/start-ring.ts';
import type { Service } from '#service/service.ts';
import type { SiteRecord } from '#store/store.ts';
import { createBatch } from './batch.ts';

/**
 * What a resolver knows. Nothing of a connection or request is in it that an answer could depend on: watchers with the same rights
 * share what one of them has asked for.
 */
export type GraphqlContext = {
  readonly caller: Caller;
  readonly service: Service;
  /** Each gathers what one pass over the answer asks for into one read of the store; nothing is kept. */
  readonly siteOf: (id: SiteId) => Promise<SiteRecord | undefined>;
  readonly queuePositionOf: (id: CrawlId) => Promise<number | undefined>;
  /** Told of the caller's starts when one was tried; for the headers of the answer. */
  readonly tellStarts: (allowance: StartAllowance) => void;
};

export type ContextDeps = Pick<GraphqlContext, 'caller' | 'service' | 'tellStarts'>;

export const createContext = ({ caller, service, tellStarts }: ContextDeps): GraphqlContext => ({
  caller,
  service,
  siteOf: createBatch((ids) => service.getSites(ids, caller)),
  queuePositionOf: createBatch((ids) => service.getQueuePositions(ids, caller)),
  tellStarts,
});
