import { type CursorScope, decodeCursor, encodeCursor, type Position, type PositionKinds } from '#domain/cursor.ts';

export const DEFAULT_LIMIT = 50;
export const MOST_LIMIT = 200;

export type ListInput = {
  /** A whole number ≥ 1; above 200 it becomes 200. 50 when absent. */
  readonly limit?: number | undefined;
  /** The `nextCursor` of a list with the same filter; from the start when absent. */
  readonly cursor?: string | undefined;
};

export type List<Item> = {
  readonly items: readonly Item[];
  /** Where the list goes on; null at its end. */
  readonly nextCursor: string | null;
};

/** A list that also tells where each of its items lies. */
export type CursorList<Item> = List<Item> & { readonly cursorOf: (item: Item) => string };

type Keyset<Item> = {
  readonly scope: CursorScope;
  /** An item's sort key. */
  readonly positionOf: (item: Item) => Position;
  /** What the parts of the key are. */
  readonly parts: PositionKinds;
  /** Reads up to `limit` items after `after` (null: from the start). */
  readonly read: (after: Position | null, limit: number) => Promise<readonly Item[]>;
};

/** Reads one part of a list, and one item more to know whether it goes on. Throws `invalid_cursor`. */
export async function readList<Item>({ limit = DEFAULT_LIMIT, cursor }: ListInput, keyset: Keyset<Item>): Promise<CursorList<Item>> {
  const after = cursor === undefined ? null : decodeCursor(cursor, keyset.scope, keyset.parts);
  const bounded = Math.min(limit, MOST_LIMIT);
  const found = await keyset.read(after, bounded + 1);
  const items = found.slice(0, bounded);
  const last = items.at(-1);
  const goesOn = found.length > bounded && last !== undefined;
  const cursorOf = (item: Item): string => encodeCursor(keyset.positionOf(item), keyset.scope);
  return { items, nextCursor: goesOn ? cursorOf(last) : null, cursorOf };
}
