import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import type { Document } from 'mongodb';
import { describe, expect, test } from 'vitest';
import type { OrganizationId } from '#domain/ids.ts';
import { startCuttingProxy } from './fixtures/cutting-proxy.ts';
import { firstHost, silent, urlOf } from './fixtures/harness.ts';
import { commandOf, documentOf, onMessage, tie } from './fixtures/wire.ts';
import { withServer } from './fixtures/with-server.ts';
import { DEFAULT_MONGO_SETTINGS, openMongoStore } from './open.ts';
import { SCHEMA_VERSION } from './schema.ts';

const IMPATIENT = { ...DEFAULT_MONGO_SETTINGS, connectTimeoutMs: 200, selectionTimeoutMs: 200, answerTimeoutMs: 200 };

withServer('opening a MongoDB store', (url, admin) => {
  const open = (name: string) => openMongoStore({ url: urlOf(url, name), log: silent, settings: DEFAULT_MONGO_SETTINGS });

  async function inDatabase(body: (name: string) => Promise<void>): Promise<void> {
    const name = `crawlgate-${randomUUID()}`;
    try {
      await body(name);
    } finally {
      await admin.db(name).dropDatabase();
    }
  }

  test('twenty times at once makes one schema, and every one of them works', () =>
    inDatabase(async (name) => {
      const stores = await Promise.all(Array.from({ length: 20 }, () => open(name)));
      await Promise.all(stores.map((store) => store.ping()));
      expect(await admin.db(name).collection('meta').countDocuments()).toBe(1);
      await Promise.all(stores.map((store) => store.close()));
    }));

  test('refuses a database that a newer version has written', () =>
    inDatabase(async (name) => {
      await (await open(name)).close();
      await admin
        .db(name)
        .collection('meta')
        .updateOne({ version: SCHEMA_VERSION }, { $set: { version: SCHEMA_VERSION + 1 } });
      await expect(open(name)).rejects.toThrow(
        `The database has schema ${SCHEMA_VERSION + 1}; this version knows up to ${SCHEMA_VERSION}.`,
      );
    }));

  test('refuses a database in which an index is another one than it should be, and names it', () =>
    inDatabase(async (name) => {
      await admin.db(name).collection('pages').createIndex({ crawl: 1, seq: 1 }, { name: 'crawl_seq' });
      await expect(open(name)).rejects.toThrow('The index crawl_seq of pages is not the one');
    }));

  test('reads and writes with a majority, in its journal, whatever the URL says', () =>
    inDatabase(async (name) => {
      const sent: Document[] = [];
      const sockets = new Set<Socket>();
      const proxy = createServer((client) => {
        const target = connect(firstHost(url));
        tie(sockets, client, target);
        client.pipe(target).pipe(client);
        onMessage(client, (message) => void (commandOf(message) !== '' && sent.push(documentOf(message))));
      }).listen(0, '127.0.0.1');
      await once(proxy, 'listening');
      const { port } = proxy.address() as { port: number };
      const query = 'directConnection=true&w=1&journal=false&wtimeout=1&readConcernLevel=local&retryWrites=true&readPreference=nearest';
      const weak = urlOf(url, name, { hosts: `127.0.0.1:${port}`, query });
      const store = await openMongoStore({ url: weak, log: silent, settings: DEFAULT_MONGO_SETTINGS });
      await store.createOrganization({ id: randomUUID() as OrganizationId, name: 'safe', monthlyUrlQuota: 5 });
      const written = sent.length;
      await store.findOrganization('safe');
      await store.now();
      await store.close();
      for (const socket of sockets) socket.destroy();
      proxy.close();
      const named = (commands: Document[], ...names: string[]) =>
        commands.filter((command) => names.includes(Object.keys(command)[0] ?? ''));
      const writes = named(sent, 'insert', 'update', 'createIndexes');
      const reads = named(sent.slice(written), 'find', 'aggregate');
      expect(writes.length).toBeGreaterThan(2);
      expect(reads).toHaveLength(2);
      for (const write of writes) {
        expect(write.writeConcern).toMatchObject({ w: 'majority', j: true, wtimeout: DEFAULT_MONGO_SETTINGS.answerTimeoutMs });
        expect(write).not.toHaveProperty('txnNumber');
      }
      for (const { readConcern, $readPreference } of reads) {
        expect(readConcern).toEqual({ level: 'majority' });
        expect($readPreference?.mode).not.toBe('nearest');
      }
    }));

  test('goes on by itself after its connections were cut', () =>
    inDatabase(async (name) => {
      const proxy = await startCuttingProxy(firstHost(url));
      const through = urlOf(url, name, { hosts: `127.0.0.1:${proxy.port}`, query: 'directConnection=true' });
      const store = await openMongoStore({ url: through, log: silent, settings: DEFAULT_MONGO_SETTINGS });
      await Promise.all(Array.from({ length: 5 }, () => store.ping()));
      proxy.dropConnections();
      // What is under way at the cut is unavailable, and nothing else.
      await store.ping().catch((error: unknown) => expect(error).toMatchObject({ code: 'unavailable' }));
      await store.ping();
      await store.close();
      await proxy.close();
    }));

  // The driver lets the socket's own error through: it was taken for a defect of the service, and answered 500.
  test('is unavailable, and nothing else, when its connections were reset and it has not noticed yet', () =>
    inDatabase(async (name) => {
      const proxy = await startCuttingProxy(firstHost(url));
      const through = urlOf(url, name, { hosts: `127.0.0.1:${proxy.port}`, query: 'directConnection=true' });
      const store = await openMongoStore({ url: through, log: silent, settings: DEFAULT_MONGO_SETTINGS });
      await store.findOrganization('none');
      proxy.resetConnections();
      await expect(store.findOrganization('none')).rejects.toMatchObject({ code: 'unavailable' });
      expect(await store.findOrganization('none')).toBeNull();
      await store.close();
      await proxy.close();
    }));

  test('keeps what was stored for the next one that opens it', () =>
    inDatabase(async (name) => {
      const organization = { id: randomUUID() as OrganizationId, name: 'kept', monthlyUrlQuota: 5 };
      const first = await open(name);
      await first.createOrganization(organization);
      await first.close();
      const second = await open(name);
      expect(await second.findOrganization('kept')).toMatchObject(organization);
      await second.close();
    }));
});

describe('a MongoDB server that does not answer', () => {
  test('is unavailable to one who opens it, within the timeouts, when nothing listens', async () => {
    const opening = openMongoStore({ url: 'mongodb://127.0.0.1:1/crawlgate', log: silent, settings: IMPATIENT });
    await expect(opening).rejects.toMatchObject({ code: 'unavailable' });
  });

  test('is unavailable to one who opens it, within the timeouts, when it accepts and stays silent', async () => {
    const server = createServer((socket) => socket.on('error', () => {}));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    const opening = openMongoStore({ url: `mongodb://127.0.0.1:${port}/crawlgate`, log: silent, settings: IMPATIENT });
    await expect(opening).rejects.toMatchObject({ code: 'unavailable' });
    server.close();
  });
});
