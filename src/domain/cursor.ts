import { createHash } from 'node:crypto';
import { Refusal } from './errors.ts';

const VERSION = 1;
/** The longest cursor that is looked at. */
export const MAX_CURSOR_LENGTH = 512;

/** Where a list goes on: the sort key of the last item that was given out. */
export type Position = readonly (string | number)[];

/**
 * What a cursor is valid for: the list's name, the organization and the filter. A cursor is checksummed over it, so one of another
 * organization, list or filter is refused. The checksum is no secret: the store filters by organization all the same.
 */
export type CursorScope = {
  readonly list: string;
  readonly organizationId: string;
  readonly filter: Readonly<Record<string, string | null>>;
};

function checksum(position: string, scope: CursorScope): string {
  const filter = Object.entries(scope.filter).sort(([a], [b]) => (a < b ? -1 : 1));
  const covered = JSON.stringify([VERSION, scope.list, scope.organizationId, filter, position]);
  return createHash('sha256').update(covered).digest('base64url').slice(0, 11);
}

export function encodeCursor(position: Position, scope: CursorScope): string {
  const text = JSON.stringify(position);
  return Buffer.from(JSON.stringify([VERSION, checksum(text, scope), ...position])).toString('base64url');
}

/** What each part of a position is; a number is a whole one. */
export type PositionKinds = readonly ('string' | 'number')[];

const isPosition = (values: unknown[], kinds: PositionKinds): values is (string | number)[] =>
  values.length === kinds.length &&
  values.every((value, at) => typeof value === kinds[at] && (typeof value === 'string' || Number.isSafeInteger(value)));

/**
 * Throws `invalid_cursor` for anything that is no cursor of this very scope, with parts of these kinds. Whoever knows how a cursor is made
 * can make one: that its parts are of these kinds is all that may be relied on.
 */
export function decodeCursor(cursor: string, scope: CursorScope, kinds: PositionKinds): Position {
  if (cursor.length <= MAX_CURSOR_LENGTH) {
    try {
      const [version, sum, ...position] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[];
      const genuine = version === VERSION && isPosition(position, kinds);
      if (genuine && sum === checksum(JSON.stringify(position), scope) && encodeCursor(position, scope) === cursor) return position;
    } catch {
      // not even JSON: refused below like every other foreign text
    }
  }
  throw new Refusal('invalid_cursor', 'The cursor is not one that this list gave out for this filter.', {
    errors: [{ parameter: 'cursor', detail: 'must be a nextCursor of this list, with the same filter' }],
  });
}
