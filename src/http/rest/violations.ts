import type { z } from '@hono/zod-openapi';
import { Refusal, type Violation } from '#domain/errors.ts';

/** Where a value stands that a schema has refused. */
type Place = 'body' | 'query';

const NAMES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  boolean: 'true or false',
  object: 'a JSON object',
  array: 'an array',
};

/** One reason, as it reads after the name of the place. */
const describeIssue: z.core.$ZodErrorMap = (issue) => {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? 'is required' : `must be ${NAMES[issue.expected] ?? issue.expected}`;
    case 'invalid_value':
      return `must be one of ${issue.values.join(', ')}`;
    case 'too_small':
      return issue.origin === 'string' ? 'must not be empty' : `must be at least ${issue.minimum}`;
    case 'too_big':
      return issue.origin === 'string' ? `must be at most ${issue.maximum} characters` : `must be at most ${issue.maximum}`;
    default:
      return undefined;
  }
};

/** RFC 6901 §3. */
const pointerOf = (path: readonly PropertyKey[]): string =>
  path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');

function violation(place: Place, path: readonly PropertyKey[], detail: string): Violation {
  return place === 'body' ? { detail, pointer: pointerOf(path) } : { detail, parameter: path.map(String).join('.') };
}

function violationsOf(issues: readonly z.core.$ZodIssue[], place: Place): Violation[] {
  return issues.flatMap((issue) => {
    if (issue.code !== 'unrecognized_keys') return [violation(place, issue.path, issue.message)];
    const unknown = place === 'body' ? 'is not a field of this request' : 'is not a parameter of this request';
    return issue.keys.map((key) => violation(place, [...issue.path, key], unknown));
  });
}

const DETAILS: Readonly<Record<Place, string>> = {
  body: 'The body is not what this request takes.',
  query: 'The query is not what this request takes.',
};

/** Reads `value` by `schema`. Throws `invalid_request` with `wrong` and every place that the schema refuses. */
export function readBySchema<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  place: Place,
  wrong: Violation[] = [],
): z.output<Schema> {
  const read = schema.safeParse(value, { error: describeIssue });
  if (read.success && wrong.length === 0) return read.data;
  const errors = [...wrong, ...violationsOf(read.error?.issues ?? [], place)];
  throw new Refusal('invalid_request', DETAILS[place], { errors });
}

/** Reads a query string (without `?`): each parameter at most once. Throws `invalid_request`. */
export function readQuery<Schema extends z.ZodType>(schema: Schema, query: string): z.output<Schema> {
  if (query === '') return readBySchema(schema, {}, 'query');
  const once = new Map<string, string>();
  const repeated = new Set<string>();
  for (const [name, value] of new URLSearchParams(query)) {
    if (once.has(name)) repeated.add(name);
    else once.set(name, value);
  }
  const wrong = [...repeated].map((parameter) => ({ detail: 'must be given once', parameter }));
  return readBySchema(schema, Object.fromEntries(once), 'query', wrong);
}
