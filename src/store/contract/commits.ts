import { describe, expect, test } from 'vitest';
import type { StoreHarness } from './harness.ts';
import { allPages, batchOf, discovered, expectCountersOf, fetched, seqs, wholeFrontier, without } from './pages.ts';
import { answered, claimNext, inWorld } from './world.ts';

export function commitTests(harness: StoreHarness): void {
  describe('commitPages', () => {
    test(
      'stores what was discovered and what became of it, counts both, and begins the phase fetching',
      inWorld(harness, async ({ store, fetching }) => {
        const { tenant, id, token, claim } = await fetching();
        const first = answered(await store.commitPages(id, token, batchOf(1, { discovered: [discovered(0)] })));
        expect(first).toMatchObject({ phase: 'fetching', counters: { discovered: 1, fetched: 0 } });
        expect(first.version).toBeGreaterThan(claim.snapshot.version);
        const second = answered(
          await store.commitPages(
            id,
            token,
            batchOf(2, {
              discovered: [discovered(1), discovered(2), discovered(3), discovered(4, { status: 'blocked', reason: 'Disallow: /p' })],
              results: [fetched(0, { links: [1, 2, 3, 4] }), without(1, 'failed'), without(2, 'redirected'), without(3, 'blocked')],
            }),
          ),
        );
        expect(second.version).toBeGreaterThan(first.version);
        expect(second.counters).toEqual({ discovered: 5, fetched: 1, redirected: 1, failed: 1, blocked: 2 });
        expect(await store.getCrawl(tenant.organizationId, id)).toEqual(second);
        expectCountersOf(second, await wholeFrontier(store, id, token));
      }),
    );

    test(
      'keeps every field of a page',
      inWorld(harness, async ({ store, fetching }) => {
        const { id, token } = await fetching();
        const found = discovered(1, { url: 'https://example.com/%C3%A4?x=1', depth: 1, foundOn: 0, redirects: 2 });
        const { links, otherLinks, ...result } = fetched(1, {
          httpStatus: 404,
          contentType: null,
          durationMs: 1_234,
          bytes: 99,
          truncated: true,
          facts: {
            title: 'Ü “quoted” \u{1f600}',
            description: 'd',
            lang: null,
            canonical: 'https://example.com/c',
            h1Count: 2,
            imagesWithoutAlt: 3,
            textLength: 4,
            noindex: true,
            nofollow: true,
          },
          links: [0],
          otherLinks: ['https://other.example/'],
          linksTruncated: true,
        });
        const moved = without(2, 'redirected', { httpStatus: 301, redirectUrl: 'https://example.com/there' });
        const refused = discovered(3, { status: 'blocked', reason: 'Disallow: /private (line 3)' });
        await store.commitPages(
          id,
          token,
          batchOf(1, {
            discovered: [discovered(0), found, discovered(2), refused],
            results: [{ ...result, links, otherLinks }, moved],
          }),
        );
        const pages = answered(await store.readPages(id, token, -1, 10));
        const queued = { ...discovered(0), httpStatus: null, contentType: null, redirectUrl: null, fetchedAt: null, durationMs: null };
        const blank = { bytes: 0, truncated: false, facts: null, links: [], otherLinks: [], linksTruncated: false };
        expect(pages).toEqual([
          { ...queued, ...blank },
          { ...found, ...result, links: [0], otherLinks: ['https://other.example/'] },
          { ...discovered(2), ...moved },
          { ...queued, ...blank, ...refused },
        ]);
        const bare = pages.map(({ links: _, otherLinks: __, ...page }) => page);
        const bySeq = answered(await store.readPagesBySeq(id, token, [3, 1, 77]));
        expect(bySeq.sort((a, b) => a.seq - b.seq)).toEqual([bare[1], bare[3]]);
      }),
    );

    test(
      'repeated, answers the snapshot and stores nothing twice',
      inWorld(harness, async ({ store, fetching }) => {
        const { tenant, id, token } = await fetching();
        const batch = batchOf(1, { discovered: [discovered(0), discovered(1)], results: [fetched(0)] });
        const first = await store.commitPages(id, token, batch);
        const others = await Promise.all(Array.from({ length: 10 }, () => store.commitPages(id, token, batch)));
        for (const other of others) expect(other).toEqual(first);
        expect(await store.getUsage(tenant.organizationId)).toMatchObject({ used: 1, reserved: 99 });
        expect(await wholeFrontier(store, id, token)).toHaveLength(2);
      }),
    );

    test(
      'of one batch twenty times at once, stores it once',
      inWorld(harness, async ({ store, fetching }) => {
        const { tenant, id, token } = await fetching();
        const batch = batchOf(1, { discovered: seqs(0, 9).map((seq) => discovered(seq)), results: seqs(0, 4).map((seq) => fetched(seq)) });
        const snapshots = await Promise.all(Array.from({ length: 20 }, () => store.commitPages(id, token, batch)));
        expect(new Set(snapshots.map((snapshot) => answered(snapshot).version)).size).toBe(1);
        expectCountersOf(answered(snapshots[0]), await wholeFrontier(store, id, token));
        expect(await store.getUsage(tenant.organizationId)).toMatchObject({ used: 5, reserved: 95 });
      }),
    );

    test.each([0, 1, 4])('refuses batch %i after batch 2 as a RangeError and stores nothing of it', (number) =>
      inWorld(harness, async ({ store, fetching }) => {
        const { id, token } = await fetching();
        await store.commitPages(id, token, batchOf(1, { discovered: [discovered(0)] }));
        await store.commitPages(id, token, batchOf(2, { discovered: [discovered(1)] }));
        await expect(store.commitPages(id, token, batchOf(number, { discovered: [discovered(5)] }))).rejects.toThrow(RangeError);
        expect(await wholeFrontier(store, id, token)).toHaveLength(2);
      })(),
    );

    test(
      'takes a hundred pages and refuses a hundred and one',
      inWorld(harness, async ({ store, fetching }) => {
        const { id, token } = await fetching();
        const pages = seqs(0, 100).map((seq) => discovered(seq));
        await expect(store.commitPages(id, token, batchOf(1, { discovered: pages }))).rejects.toThrow(RangeError);
        const stored = answered(await store.commitPages(id, token, batchOf(1, { discovered: pages.slice(0, 100) })));
        expect(stored.counters.discovered).toBe(100);
      }),
    );

    test(
      'takes a page of 5,000 outgoing links',
      inWorld(harness, async ({ store, fetching }) => {
        const { id, token } = await fetching();
        const links = seqs(0, 2_499);
        const otherLinks = links.map((seq) => `https://other.example/${seq}`.padEnd(300, 'x'));
        const batch = batchOf(1, { discovered: [discovered(0)], results: [fetched(0, { links, otherLinks })] });
        answered(await store.commitPages(id, token, batch));
        const [page] = answered(await store.readPages(id, token, -1, 1));
        expect([page?.links, page?.otherLinks]).toEqual([links, otherLinks]);
      }),
    );

    test(
      'goes on where the last worker stopped',
      inWorld(harness, async ({ store, fetching }) => {
        const { tenant, id, token } = await fetching();
        await store.commitPages(id, token, batchOf(1, { discovered: [discovered(0), discovered(1)], results: [fetched(0)] }));
        await store.release(id, token);
        const next = await claimNext(store);
        expect(await store.commitPages(id, token, batchOf(2, { results: [fetched(1)] }))).toBe('lost');
        const last = answered(await store.commitPages(id, next.token, batchOf(next.batch + 1, { results: [without(1, 'failed')] })));
        expect(last.counters).toEqual({ discovered: 2, fetched: 1, redirected: 0, failed: 1, blocked: 0 });
        answered(await store.finish(id, next.token, { endReason: 'completed', error: null }, 0));
        expect((await allPages(store, tenant.organizationId, id)).map((page) => page.status)).toEqual(['fetched', 'failed']);
      }),
    );

    test(
      'remembers that the frontier was truncated',
      inWorld(harness, async ({ store, fetching }) => {
        const { id, token } = await fetching();
        const first = await store.commitPages(id, token, batchOf(1, { discovered: [discovered(0)], frontierTruncated: true }));
        const second = await store.commitPages(id, token, batchOf(2, { discovered: [discovered(1)] }));
        expect([answered(first).frontierTruncated, answered(second).frontierTruncated]).toEqual([true, true]);
      }),
    );

    test(
      'raises the version with every batch, and every snapshot on the way adds up',
      inWorld(harness, async ({ store, fetching }) => {
        const { tenant, id, token } = await fetching();
        let version = 0;
        for (const seq of seqs(0, 11)) {
          const results = seq === 0 ? [] : [seq % 3 === 0 ? without(seq - 1, 'failed') : fetched(seq - 1)];
          await store.commitPages(id, token, batchOf(seq + 1, { discovered: [discovered(seq)], results }));
          const snapshot = answered(await store.getCrawl(tenant.organizationId, id));
          expect(snapshot.version).toBeGreaterThan(version);
          version = snapshot.version;
          expectCountersOf(snapshot, await wholeFrontier(store, id, token));
        }
      }),
    );
  });

  describe('the frontier', () => {
    test(
      'is read by seq in steps, everything committed included',
      inWorld(harness, async ({ store, fetching }) => {
        const { id, token } = await fetching();
        const found = seqs(0, 9).map((seq) => discovered(seq, { depth: seq, redirects: seq % 2 }));
        await store.commitPages(id, token, batchOf(1, { discovered: found }));
        await store.commitPages(id, token, batchOf(2, { results: [fetched(0), without(4, 'failed')] }));
        const first = answered(await store.readFrontier(id, token, -1, 4));
        expect(first).toEqual(
          seqs(0, 3).map((seq) => ({
            seq,
            url: discovered(seq).url,
            depth: seq,
            redirects: seq % 2,
            status: seq === 0 ? 'fetched' : 'queued',
          })),
        );
        const rest = answered(await store.readFrontier(id, token, 3, 100));
        expect(rest.map(({ seq, status }) => [seq, status])).toEqual([
          [4, 'failed'],
          ...seqs(5, 9).map((seq): [number, string] => [seq, 'queued']),
        ]);
      }),
    );

    test(
      'may be handed on in one batch with the result of the page it came from',
      inWorld(harness, async ({ store, fetching }) => {
        const { id, token } = await fetching();
        const both = { discovered: [discovered(0), discovered(1)], results: [fetched(0, { links: [1] }), without(1, 'failed')] };
        expectCountersOf(answered(await store.commitPages(id, token, batchOf(1, both))), await wholeFrontier(store, id, token));
      }),
    );
  });
}
