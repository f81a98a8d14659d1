import type { createRoute, z } from '@hono/zod-openapi';
import type { Caller, Scope } from '#domain/account.ts';
import type { ErrorCode } from '#domain/errors.ts';
import type { CrawlId } from '#domain/ids.ts';
import type { Service } from '#service/service.ts';
import type { Watch } from '#service/watch.ts';

/** What an operation reads of its request; each part as its schema made it. */
export type OperationRequest<Query, Body> = {
  readonly query: Query;
  readonly body: Body;
  /** The `{id}` of the path. Throws `not_found` when it is no UUID. */
  readonly crawlId: () => CrawlId;
  /** The values of a header, one for each time that it was sent; the name in lower case. */
  readonly header: (name: string) => readonly string[];
};

/** What an operation answers. */
export type Outcome = {
  readonly status: number;
  /** Sent as JSON; absent: no body. */
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as server-sent events, for as long as it goes on; without `body`. */
  readonly updates?: Watch;
};

type Answer = {
  readonly description: string;
  readonly schema?: z.ZodType;
  /** Default: `application/json`. */
  readonly contentType?: string;
  /** Named headers, beside those that every answer has. */
  readonly headers?: Readonly<Record<string, { readonly description: string; readonly example: string }>>;
};

type Definition<Query extends z.ZodObject, Body extends z.ZodType> = {
  readonly operationId: string;
  readonly method: 'get' | 'post' | 'delete';
  /** As OpenAPI writes it: `/v1/crawls/{id}`. */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly description: string;
  /** Null: any valid key. The use case checks it; here it is documented. */
  readonly scope: Scope | null;
  /** Which limit its answers tell of. */
  readonly limit: 'starts' | 'requests';
  readonly params?: z.ZodObject;
  /** A strict object: what it does not name is refused. */
  readonly query: Query;
  readonly headers?: z.ZodObject;
  /** Null: the operation takes no body. */
  readonly body: Body | null;
  readonly answers: Readonly<Record<number, Answer>>;
  /** Beside those that every operation may give. */
  readonly problems: readonly ErrorCode[];
  /** Written as a method, so that its parameters may be narrower than those of any `Operation`: the frame reads them by these very schemas. */
  run(service: Service, request: OperationRequest<z.output<Query>, z.output<Body>>, caller: Caller): Promise<Outcome>;
};

/** A call of `/v1`: what is documented, what validates and what answers, in one place. */
export type Operation = Definition<z.ZodObject, z.ZodType>;

/** Checks a definition's `run` against its own schemas. */
export const operation = <Query extends z.ZodObject, Body extends z.ZodType>(definition: Definition<Query, Body>): Operation => definition;

export type RouteConfig = Parameters<typeof createRoute>[0];
