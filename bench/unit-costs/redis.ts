import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { freePort } from '../../scripts/cluster/free-port.ts';
import { run } from '../lib/process.ts';
import type { MeasureCosts } from './cost.ts';

/** About the size of a snapshot. */
const PAYLOAD = 'x'.repeat(650);
const CHANNEL = 'crawlgate:crawl:00000000-0000-4000-8000-000000000000';
const CONNECTIONS = 50;
const SUBSCRIBERS = 50;

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

/** A subscriber that reads away what it gets, and so costs little itself. */
async function subscribe(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.write(`SUBSCRIBE ${CHANNEL}\r\n`);
  await once(socket, 'data');
  return socket.resume();
}

/** Messages a second that Redis takes from 50 connections, one at a time each. */
async function published(port: number, messages: number): Promise<number> {
  const words = ['-p', String(port), '-n', String(messages), '-c', String(CONNECTIONS), '--csv', 'PUBLISH', CHANNEL, PAYLOAD];
  const lines = (await run('redis-benchmark', words)).trim().split('\n');
  const rate = Number(/^"[^"]*(?:"[^"]*)?","([\d.]+)"/.exec(lines.at(-1) ?? '')?.[1] ?? Number.NaN);
  if (Number.isNaN(rate)) throw new Error(`redis-benchmark printed no rate: ${lines.join(' ')}`);
  return rate;
}

/** What one Redis carries, by its own benchmark. */
export const redisCosts: MeasureCosts = (smoke) =>
  withRedis(async (port) => {
    const messages = smoke ? 1_000 : 200_000;
    const how = `redis-benchmark, ${CONNECTIONS} connections, ${PAYLOAD.length} bytes; it runs on the same two cores`;
    const alone = await published(port, messages);
    const subscribers = await Promise.all(Array.from({ length: SUBSCRIBERS }, () => subscribe(port)));
    const heard = await published(port, messages / SUBSCRIBERS);
    for (const subscriber of subscribers) subscriber.destroy();
    const rate = (perSecond: number): string => `${Math.round(perSecond / 100) * 100}/s`;
    return [
      { of: 'Redis', what: 'PUBLISH to a channel that nobody hears', value: rate(alone), how },
      { of: 'Redis', what: `messages delivered, ${SUBSCRIBERS} subscribers of one channel`, value: rate(heard * SUBSCRIBERS), how },
    ];
  });
