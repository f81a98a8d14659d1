import { type ErrorCode, Refusal } from '#domain/errors.ts';
import type { StartCrawl } from '#service/start-crawl.ts';

export type StreamKind = 'websocket' | 'subscription' | 'graphql_sse' | 'rest_sse';
export type GraphqlType = 'query' | 'mutation' | 'subscription' | 'unknown';
/** `errors`: in an answer; `refused`: nothing was executed. */
export type GraphqlOutcome = 'ok' | 'errors' | 'refused';

/** Plain numbers that whoever sends updates raises: this is the hottest place of all. */
export type UpdateCounts = { [Kind in 'subscription' | 'graphql_sse' | 'rest_sse']: number } & {
  /** Replaced by a newer one while a slow client had not taken them. */
  skipped: number;
};

/** Told of what this server does, to count it. Each returns at once, and never throws. */
export type HttpObserver = {
  /** A request is over. `route` is its template, null when it had none; a `status` of null: the client had gone before. */
  answered(route: string | null, method: string, status: number | null, ms: number): void;
  /** A valid request for a crawl: `accepted`, or why not. */
  started(outcome: 'accepted' | ErrorCode): void;
  executed(type: GraphqlType, outcome: GraphqlOutcome): void;
  opened(kind: StreamKind): void;
  closed(kind: StreamKind): void;
  readonly updates: UpdateCounts;
};

/** For a server that nobody reads the metrics of. */
export const createSilentObserver = (): HttpObserver => ({
  answered() {},
  started() {},
  executed() {},
  opened() {},
  closed() {},
  updates: { subscription: 0, graphql_sse: 0, rest_sse: 0, skipped: 0 },
});

/** The use case, with each of its answers told. */
export function countStarts(startCrawl: StartCrawl, { started }: Pick<HttpObserver, 'started'>): StartCrawl {
  return async (input, caller) => {
    try {
      const crawl = await startCrawl(input, caller);
      started('accepted');
      return crawl;
    } catch (error) {
      started(error instanceof Refusal ? error.code : 'internal_error');
      throw error;
    }
  };
}
