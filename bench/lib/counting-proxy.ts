import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** What went through a proxy since the count before. */
export type Traffic = {
  /** Commands of the wire protocol by name; those with which the driver looks after its connections are left out. */
  readonly commands: ReadonlyMap<string, number>;
  /** Bytes of these commands, and of all answers. */
  readonly sent: number;
  readonly received: number;
};

/** A way to a MongoDB server on which commands are counted. */
export type CountingProxy = {
  readonly port: number;
  take(): Traffic;
  /** Connections of clients that are open. */
  connections(): number;
  [Symbol.asyncDispose](): Promise<void>;
};

const OP_MSG = 2013;
const HEADER_BYTES = 16;
/** Header, flags (4), kind of the first section (1), length of the document (4), type of its first field (1): there the name begins. */
const NAME_AT = HEADER_BYTES + 10;
const UPKEEP = new Set(['hello', 'ismaster', 'isMaster', 'ping', 'endSessions', 'buildInfo']);

export async function startCountingProxy(upstream: { readonly host: string; readonly port: number }): Promise<CountingProxy> {
  const sockets = new Set<Socket>();
  let commands = new Map<string, number>();
  let [sent, received] = [0, 0];

  function count(message: Buffer): void {
    const name = message.readInt32LE(12) === OP_MSG ? message.toString('latin1', NAME_AT, message.indexOf(0, NAME_AT)) : 'isMaster';
    if (UPKEEP.has(name)) return;
    commands.set(name, (commands.get(name) ?? 0) + 1);
    sent += message.length;
  }

  const server = createServer((client) => {
    const target = connect(upstream);
    for (const [socket, other] of [
      [client, target],
      [target, client],
    ] as const) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
    let waiting: Buffer = Buffer.alloc(0);
    client.on('data', (chunk: Buffer) => {
      target.write(chunk);
      waiting = waiting.length === 0 ? chunk : Buffer.concat([waiting, chunk]);
      while (waiting.length >= HEADER_BYTES && waiting.length >= waiting.readInt32LE(0)) {
        count(waiting.subarray(0, waiting.readInt32LE(0)));
        waiting = waiting.subarray(waiting.readInt32LE(0));
      }
    });
    target.on('data', (chunk: Buffer) => {
      received += chunk.length;
      client.write(chunk);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port');
  return {
    port: address.port,
    connections: () => sockets.size / 2,
    take() {
      const traffic = { commands, sent, received };
      commands = new Map();
      [sent, received] = [0, 0];
      return traffic;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** The server of a connection string, and the same string by way of a proxy to it. */
export const upstreamOf = (url: string): { host: string; port: number } => {
  const [, host = '', port = '27017'] = /^mongodb:\/\/(?:[^@/]*@)?([^:,/]+)(?::(\d+))?/.exec(url) ?? [];
  return { host, port: Number(port) };
};
export const through = (url: string, { port }: CountingProxy): string => {
  const [, scheme = '', database = ''] = /^(mongodb:\/\/(?:[^@/]*@)?)[^/]+\/([^?]*)/.exec(url) ?? [];
  return `${scheme}127.0.0.1:${port}/${database}?directConnection=true`;
};
