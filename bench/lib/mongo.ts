import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { MongoClient } from 'mongodb';

const START = fileURLToPath(new URL('../../test/servers/mongo-test-server/start', import.meta.url));

/** A database of its own on the MongoDB of MONGODB_TEST_URL; without that on the test server, started for this. */
export async function withMongo<T>(use: (url: string, database: ReturnType<MongoClient['db']>) => Promise<T>): Promise<T> {
  const given = process.env.MONGODB_TEST_URL ?? '';
  return given === '' ? withTestServer((url) => withDatabase(url, use)) : withDatabase(given, use);
}

async function withDatabase<T>(server: string, use: (url: string, database: ReturnType<MongoClient['db']>) => Promise<T>): Promise<T> {
  const name = `crawlgate-bench-${randomUUID()}`;
  const client = new MongoClient(server);
  try {
    const [, head = '', query = ''] = /^(mongodb(?:\+srv)?:\/\/[^/?]+)(?:\/[^?]*)?(\?.*)?$/.exec(server) ?? [];
    return await use(`${head}/${name}${query}`, client.db(name));
  } finally {
    await client.db(name).dropDatabase();
    await client.close();
  }
}

async function withTestServer<T>(use: (url: string) => Promise<T>): Promise<T> {
  const child = spawn(START, ['0'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  try {
    for await (const line of createInterface({ input: child.stdout })) if (line.startsWith('mongodb:')) return await use(line);
    throw new Error('the MongoDB test server did not start');
  } finally {
    child.kill('SIGTERM');
    await ended;
  }
}
