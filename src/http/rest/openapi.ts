import { createRoute, OpenAPIHono } from '@hono/zod-openapi';
import { ERRORS, type ErrorCode } from '#domain/errors.ts';
import { meaningOf } from '../problem-texts.ts';
import { PROBLEM_TYPE, problemPath } from '../problems.ts';
import type { Operation, RouteConfig } from './operation.ts';
import { OPERATIONS } from './operations.ts';

export type OpenApiDocument = ReturnType<OpenAPIHono['getOpenAPI31Document']>;

const DESCRIPTION = `crawlgate crawls a site and tells what is wrong with its pages. It reads HTML as it is served and runs no JavaScript. A site keeps it out, or away from some of its pages, by a group for \`crawlgate\` in its robots.txt.

Start a crawl with \`POST /v1/crawls\`, then poll \`GET /v1/crawls/{id}\` until its \`state\` is \`done\` or \`failed\`: every 5 seconds, or every 15 to 30 seconds when \`maxUrls\` is above 5,000. Then read its findings.

Every answer of an authenticated call tells by \`RateLimit-Policy\` and \`RateLimit\` what may still be asked; a 429 or 503 says by \`Retry-After\` when to come again. Errors are problem documents (RFC 9457): tell them apart by \`code\`. Body fields and query parameters that are not documented are refused.`;

const TAGS = [
  { name: 'Crawls', description: 'Start, watch, cancel and delete crawls.' },
  { name: 'Results', description: 'What a crawl has found.' },
  { name: 'Account', description: 'The organization that the API key belongs to.' },
];

/** Headers of the answers, by name; those of `EVERY` are on each. */
const HEADERS = {
  'X-Request-Id': ['The id under which the log has the request.', '0b7d5f0a-3c0e-4f0f-8a55-0a1d6a4b1c2d'],
  'RateLimit-Policy': [
    'The limit: its name, how many requests (q) in how many seconds (w). Absent where limits are off.',
    '"requests";q=600;w=60',
  ],
  RateLimit: [
    'What is left of it: requests (r), and in how many seconds there are more (t). Absent where limits are off.',
    '"requests";r=599;t=42',
  ],
  'Retry-After': ['Seconds to wait before the request is repeated.', '12'],
  'WWW-Authenticate': ['How to authenticate.', 'Bearer'],
} as const;
type HeaderName = keyof typeof HEADERS;
const AUTHENTICATED: readonly HeaderName[] = ['X-Request-Id', 'RateLimit-Policy', 'RateLimit'];

const headerRefs = (names: readonly HeaderName[]) =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

const PROBLEM_SCHEMA = {
  type: 'object' as const,
  required: ['type', 'title', 'status', 'detail', 'instance', 'code'],
  properties: {
    type: { type: 'string' as const, format: 'uri', description: 'Leads to a page about the code.' },
    title: { type: 'string' as const, description: 'The code in a few words.' },
    status: { type: 'integer' as const, description: 'The HTTP status.' },
    detail: { type: 'string' as const, description: 'What went wrong this time.' },
    instance: { type: 'string' as const, format: 'uri', description: '`urn:uuid:` and the request id.' },
    code: { type: 'string' as const, enum: Object.keys(ERRORS), description: 'What errors are told apart by.' },
    errors: {
      type: 'array' as const,
      description: 'With status 400: every wrong place, named by one of `pointer`, `parameter` and `header`.',
      items: {
        type: 'object' as const,
        required: ['detail'],
        properties: {
          detail: { type: 'string' as const, description: 'What is wrong there.' },
          pointer: { type: 'string' as const, description: 'A JSON pointer (RFC 6901) into the body.' },
          parameter: { type: 'string' as const, description: 'The name of a query parameter.' },
          header: { type: 'string' as const, description: 'The name of a header.' },
        },
      },
    },
    resetsAt: { type: 'string' as const, format: 'date-time', description: 'With `quota_exceeded`: when the quota is whole again.' },
  },
};

const EVERY_PROBLEM: readonly ErrorCode[] = ['invalid_request', 'unauthorized', 'rate_limited', 'internal_error', 'unavailable'];

function exampleOf(code: ErrorCode, publicUrl: string) {
  const { title, status } = ERRORS[code];
  const instance = `urn:uuid:${HEADERS['X-Request-Id'][1]}`;
  return { type: publicUrl + problemPath(code), title, status, detail: meaningOf(code), instance, code };
}

function problemResponses(operation: Operation, publicUrl: string): RouteConfig['responses'] {
  const codes = [...EVERY_PROBLEM, ...(operation.scope === null ? [] : ['insufficient_scope' as const]), ...operation.problems];
  const byStatus = Map.groupBy(codes, (code) => ERRORS[code].status);
  return Object.fromEntries(
    [...byStatus].map(([status, group]) => {
      const names: HeaderName[] = status === 401 ? ['X-Request-Id', 'WWW-Authenticate'] : [...AUTHENTICATED];
      if (status === 429 || status === 503) names.push('Retry-After');
      const examples = Object.fromEntries(group.map((code) => [code, { value: exampleOf(code, publicUrl) }]));
      return [
        status,
        {
          description: group.map((code) => `\`${code}\`: ${meaningOf(code)}`).join('\n\n'),
          headers: headerRefs(names),
          content: { [PROBLEM_TYPE]: { schema: { $ref: '#/components/schemas/Problem' }, examples } },
        },
      ];
    }),
  );
}

function answerResponses(operation: Operation): RouteConfig['responses'] {
  return Object.fromEntries(
    Object.entries(operation.answers).map(([status, { description, schema, contentType = 'application/json', headers = {} }]) => {
      const own = Object.entries(headers).map(([name, header]) => [name, { ...header, schema: { type: 'string' as const } }]);
      return [
        status,
        {
          description,
          headers: { ...headerRefs(AUTHENTICATED), ...Object.fromEntries(own) },
          ...(schema !== undefined && { content: { [contentType]: { schema } } }),
        },
      ];
    }),
  );
}

function routeOf(operation: Operation, publicUrl: string): RouteConfig {
  const { method, path, operationId, tag, summary, description, scope, params, query, headers, body } = operation;
  return createRoute({
    method,
    path,
    operationId,
    tags: [tag],
    summary,
    description: scope === null ? description : `${description}\n\nNeeds the scope \`${scope}\`.`,
    security: [{ apiKey: [] }],
    request: {
      query,
      ...(params !== undefined && { params }),
      ...(headers !== undefined && { headers }),
      ...(body !== null && { body: { required: true, content: { 'application/json': { schema: body } } } }),
    },
    responses: { ...answerResponses(operation), ...problemResponses(operation, publicUrl) },
  });
}

/** The API in OpenAPI 3.1, from the operations that validate and answer; `publicUrl` is the server that it names. */
export function openApiDocument({ publicUrl }: { readonly publicUrl: string }): OpenApiDocument {
  const { openAPIRegistry, getOpenAPI31Document } = new OpenAPIHono();
  openAPIRegistry.registerComponent('securitySchemes', 'apiKey', {
    type: 'http',
    scheme: 'bearer',
    description: 'An API key of the organization: `Authorization: Bearer <key>`.',
  });
  openAPIRegistry.registerComponent('schemas', 'Problem', PROBLEM_SCHEMA);
  for (const [name, [description, example]] of Object.entries(HEADERS)) {
    openAPIRegistry.registerComponent('headers', name, { description, schema: { type: 'string' }, example });
  }
  for (const operation of OPERATIONS) openAPIRegistry.registerPath(routeOf(operation, publicUrl));
  return getOpenAPI31Document({
    openapi: '3.1.0',
    info: { title: 'crawlgate', version: '1', description: DESCRIPTION, license: { name: 'MIT' } },
    servers: [{ url: publicUrl }],
    tags: TAGS,
  });
}

/** The same as it is printed, and kept in the repository. */
export const openApiText = (publicUrl: string): string => `${JSON.stringify(openApiDocument({ publicUrl }), null, 2)}\n`;
