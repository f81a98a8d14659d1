import { randomUUID } from 'node:crypto';
import { MongoClient } from 'mongodb';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { databaseOf } from './database.ts';
import { withServer } from './fixtures/with-server.ts';
import { createLeadership } from './leadership.ts';

withServer('leadership on MongoDB', (url) => {
  const client = new MongoClient(url);
  const db = client.db(`crawlgate-${randomUUID()}`);
  beforeAll(() => client.connect());
  afterAll(async () => {
    await db.dropDatabase();
    await client.close();
  });

  // Nobody led for as long as the clocks differ, and with that nothing was reaped, relayed or swept.
  test('ends when it was renewed by a clock that is far ahead, and not when that is a little ahead', async () => {
    const database = databaseOf(db);
    const { acquireLeadership } = createLeadership(database);
    expect(await acquireLeadership('gone', 60_000)).toBe(0);
    const renewedAhead = (ms: number) => database.leader.updateOne({ _id: 'leader' }, { $set: { renewedAt: new Date(Date.now() + ms) } });
    await renewedAhead(20_000);
    const endsInMs = await acquireLeadership('next', 60_000);
    expect(endsInMs).toBeGreaterThan(60_000);
    expect(endsInMs).toBeLessThanOrEqual(80_000);
    await renewedAhead(3_600_000);
    expect(await acquireLeadership('next', 60_000)).toBe(0);
    expect(await acquireLeadership('other', 60_000)).toBeGreaterThan(30_000);
  });
});
