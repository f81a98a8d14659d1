import { createGraphql } from './graphql/graphql.ts';
import { mountRest } from './rest/mount.ts';
import { openApiDocument } from './rest/openapi.ts';

/** What clients are answered with. It brings most of what a gateway loads; who does without it imports no more than its type. */
export type Api = {
  readonly mountRest: typeof mountRest;
  readonly openApiDocument: typeof openApiDocument;
  readonly createGraphql: typeof createGraphql;
};

export const api: Api = { mountRest, openApiDocument, createGraphql };
