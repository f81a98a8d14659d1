import type { CrawlId, EpochMs, KeyId } from '#domain/ids.ts';
import {
  allowanceOf,
  emptyRing,
  retryAfterMs,
  START_WINDOW_MS,
  STARTS_PER_WINDOW,
  type StartAllowance,
  type StartRing,
} from '#domain/start-ring.ts';
import { type Database, findTimed } from './database.ts';
import type { RingDocument } from './documents.ts';
import { ifAbsent, untilWon } from './retry.ts';

export type RingState = {
  readonly starts: StartAllowance;
  /** Until the next slot can be taken; 0 when it can be now. */
  readonly waitMs: number;
  /** When a slot was taken for the crawl that was asked about; null when none was. */
  readonly takenAt: EpochMs | null;
};

/** The rings of ten slots, one for each API key. */
export type StartRings = {
  look(keyId: KeyId, crawl: CrawlId | null): Promise<RingState>;
  /** Takes the next slot for the crawl, by the server's clock, unless it has one; `takenAt` is null when the ring is full. */
  take(keyId: KeyId, crawl: CrawlId): Promise<RingState>;
};

/** Of a key that has started nothing, whatever the time. */
const UNTOUCHED = allowanceOf(emptyRing(), START_WINDOW_MS);

const ringOf = ({ next, slots }: RingDocument): StartRing => ({ next, slots: slots.map(({ at }) => at.getTime()) });

export function createStartRings({ rings }: Database): StartRings {
  function stateOf(document: RingDocument, crawl: CrawlId | null, now: EpochMs): RingState {
    const ring = ringOf(document);
    const taken = crawl === null ? undefined : document.slots.find((slot) => slot.crawl === crawl);
    return { starts: allowanceOf(ring, now), waitMs: retryAfterMs(ring, now), takenAt: taken?.at.getTime() ?? null };
  }

  const look: StartRings['look'] = async (keyId, crawl) => {
    const found = await findTimed(rings, { _id: keyId });
    if (found === null) return { starts: UNTOUCHED, waitMs: 0, takenAt: null };
    return stateOf(found, crawl, found.now.getTime());
  };

  return {
    look,
    take: (keyId, crawl) =>
      untilWon(async () => {
        const found = await findTimed(rings, { _id: keyId });
        if (found === null) {
          const slots = Array.from({ length: STARTS_PER_WINDOW }, () => ({ at: new Date(0), crawl: null }));
          await ifAbsent(() => rings.insertOne({ _id: keyId, next: 0, slots }));
          return undefined;
        }
        const state = stateOf(found, crawl, found.now.getTime());
        if (state.takenAt !== null || state.waitMs > 0) return state;
        const { next } = found;
        const oldEnough = { $lte: [{ $arrayElemAt: ['$slots.at', next] }, { $subtract: ['$$NOW', START_WINDOW_MS] }] };
        const taken = await rings.findOneAndUpdate(
          { _id: keyId, next, 'slots.crawl': { $ne: crawl }, $expr: oldEnough },
          {
            $set: { next: (next + 1) % STARTS_PER_WINDOW, [`slots.${next}.crawl`]: crawl },
            $currentDate: { [`slots.${next}.at`]: true },
          },
          { returnDocument: 'after' },
        );
        if (taken === null) return undefined;
        return stateOf(taken, crawl, taken.slots[next]?.at.getTime() ?? 0);
      }),
  };
}
