import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { Redis } from 'ioredis';
import { run } from '../lib/process.ts';
import { freePort } from '../lib/temp.ts';
import type { MeasureCosts } from './cost.ts';

/** About the size of a snapshot. */
const PAYLOAD = 'x'.repeat(650);
const CHANNEL = 'crawlgate:crawl:00000000-0000-4000-8000-000000000000';
const CONNECTIONS = 50;

async function withRedis<T>(use: (port: number) => Promise<T>): Promise<T> {
  const port = await freePort();
  const child = spawn(
    'redis-server',
    ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', '/tmp'],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  const ended = once(child, 'exit');
  try {
    for await (const line of createInterface({ input: child.stdout })) if (line.includes('Ready to accept')) break;
    child.stdout.resume();
    return await use(port);
  } finally {
    child.kill('SIGTERM');
    await ended;
  }
}

/** Messages a second that Redis takes from 50 connections, one at a time each. */
async function published(port: number, messages: number): Promise<string> {
  const words = ['-p', String(port), '-n', String(messages), '-c', String(CONNECTIONS), '--csv', 'PUBLISH', CHANNEL, PAYLOAD];
  const lines = (await run('redis-benchmark', words)).trim().split('\n');
  const rate = Number(/^"[^"]*(?:"[^"]*)?","([\d.]+)"/.exec(lines.at(-1) ?? '')?.[1] ?? Number.NaN);
  if (Number.isNaN(rate)) throw new Error(`redis-benchmark printed no rate: ${lines.join(' ')}`);
  return `${Math.round(rate / 100) * 100}/s`;
}

/** What one Redis carries, by its own benchmark. */
export const redisCosts: MeasureCosts = (smoke) =>
  withRedis(async (port) => {
    const messages = smoke ? 1_000 : 200_000;
    const how = `redis-benchmark, ${CONNECTIONS} connections, ${PAYLOAD.length} bytes; it takes a core of this machine itself`;
    const alone = await published(port, messages);
    const subscribers = Array.from({ length: 2 }, () => new Redis(port, '127.0.0.1'));
    for (const subscriber of subscribers) await subscriber.subscribe(CHANNEL);
    const heard = await published(port, messages);
    for (const subscriber of subscribers) subscriber.disconnect();
    return [
      { of: 'Redis', what: 'PUBLISH to a channel that nobody hears', value: alone, how },
      { of: 'Redis', what: 'PUBLISH to a channel with two subscribers', value: heard, how: `${how}, and so do the subscribers` },
    ];
  });
