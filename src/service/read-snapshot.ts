import type { CrawlId } from '#domain/ids.ts';
import type { Snapshot } from '#domain/snapshot.ts';
import type { Store } from '#store/store.ts';

/** The snapshot as it is stored, by a read that begins after the call; null when there is none. */
export type ReadSnapshot = (id: CrawlId) => Promise<Snapshot | null>;

/** Ids in one query. */
const MOST_IDS = 1_000;

type Batch = Map<CrawlId, PromiseWithResolvers<Snapshot | null>>;

/** One query at a time; whoever asks meanwhile shares the next one. */
export function createReadSnapshot({ store }: { readonly store: Pick<Store, 'getSnapshots'> }): ReadSnapshot {
  const gathering: Batch = new Map();
  let reading = false;

  async function readBatch(batch: Batch): Promise<void> {
    try {
      const found = new Map((await store.getSnapshots([...batch.keys()])).map((snapshot) => [snapshot.id, snapshot]));
      for (const [id, asked] of batch) asked.resolve(found.get(id) ?? null);
    } catch (error) {
      for (const asked of batch.values()) asked.reject(error);
    }
  }

  async function readAll(): Promise<void> {
    reading = true;
    await null; // whoever asks in this very moment comes along
    while (gathering.size > 0) {
      const batch: Batch = new Map([...gathering].slice(0, MOST_IDS));
      for (const id of batch.keys()) gathering.delete(id);
      await readBatch(batch);
    }
    reading = false;
  }

  return (id) => {
    const asked = gathering.get(id) ?? Promise.withResolvers<Snapshot | null>();
    gathering.set(id, asked);
    if (!reading) void readAll(); // never rejects
    return asked.promise;
  };
}
