import type { IncomingMessage, ServerResponse } from 'node:http';
import type { OrganizationId } from '#domain/ids.ts';

/** One request and its answer; the routes add what the log line tells of it. */
export type Exchange = {
  /** A UUID; the client sees it as X-Request-Id and as the `instance` of a problem. */
  readonly id: string;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The headers that the answer will have whatever it is: the request id, security, and what is left of the limit. */
  readonly headers: Record<string, string>;
  /** The template of the route that answers, such as `/v1/crawls/{id}`; null until one was found. */
  route: string | null;
  /** Null until the caller is known. */
  organizationId: OrganizationId | null;
  /** The request changes nothing: what GraphQL queries by POST do not show by their method. */
  isRead: boolean;
  /** The answer goes on for as long as its client likes: how long it took says nothing. */
  isStream: boolean;
};

/** The environment of the Hono apps: `c.env` is the exchange. */
export type ExchangeEnv = { Bindings: Exchange };
