import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { commandOf, onMessage, tie } from '#store/mongo/fixtures/wire.ts';

/** What went through a proxy since the count before. */
export type Traffic = {
  /** Commands of the wire protocol by name in lower case; those with which the driver looks after its connections are left out. */
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

/** In lower case; the empty one is of before OP_MSG, by which a connection begins. */
const UPKEEP = new Set(['', 'hello', 'ismaster', 'ping', 'endsessions', 'buildinfo']);

export async function startCountingProxy(upstream: { readonly host: string; readonly port: number }): Promise<CountingProxy> {
  const sockets = new Set<Socket>();
  let commands = new Map<string, number>();
  let [sent, received] = [0, 0];

  function count(message: Buffer): void {
    const name = commandOf(message);
    if (UPKEEP.has(name)) return;
    commands.set(name, (commands.get(name) ?? 0) + 1);
    sent += message.length;
  }

  const server = createServer((client) => {
    const target = connect(upstream);
    tie(sockets, client, target);
    client.on('data', (chunk: Buffer) => void target.write(chunk));
    onMessage(client, count);
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
