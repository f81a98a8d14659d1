import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

/**
 * Ports below those that systems give out for port 0 and to connections, on Linux from 32768 on: what ends and comes back where it was
 * finds its port free. Each process has a part of them by its id, for others look for some at the same time.
 */
const LOWEST = 11_000;
const PARTS = 64;
const PART_SIZE = 330;

/** Null when the port is taken. */
async function listenAt(port: number): Promise<Server | null> {
  const server = createServer();
  const listening = once(server, 'listening');
  server.listen(port, '127.0.0.1');
  return listening.then(
    () => server,
    () => null,
  );
}

/** So many different ports of 127.0.0.1 that were free a moment ago, for servers that come back where they were, or cannot take port 0. */
export async function freePorts(count: number): Promise<number[]> {
  const held = new Map<number, Server>();
  const first = LOWEST + (process.pid % PARTS) * PART_SIZE;
  while (held.size < count) {
    const port = first + randomInt(PART_SIZE);
    const server = held.has(port) ? null : await listenAt(port);
    if (server !== null) held.set(port, server);
  }
  for (const server of held.values()) {
    server.close();
    await once(server, 'close');
  }
  return [...held.keys()];
}

export async function freePort(): Promise<number> {
  const [port = 0] = await freePorts(1);
  return port;
}
