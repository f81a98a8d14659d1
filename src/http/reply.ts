import type { Exchange } from './exchange.ts';

/** An answer before the headers that every answer has are added to it. */
export type Reply = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array<ArrayBuffer> | null;
};

/** A file of one of the pages: it changes with a version alone. */
export const fileReply = (type: string, body: Reply['body']): Reply => ({
  status: 200,
  headers: { 'Content-Type': type, 'Cache-Control': 'public, max-age=3600' },
  body,
});

/**
 * Answers the files that `read` gives, each read once: what waits for any number of clients that asked for it and do not take it is the
 * same memory.
 */
export function createAnswerFile(read: (name: string) => Promise<Reply>): (name: string) => Promise<Reply> {
  const files = new Map<string, Promise<Reply>>();
  return (name) => {
    const known = files.get(name);
    if (known !== undefined) return known;
    const file = read(name).then(inBytes);
    files.set(name, file);
    file.catch(() => files.delete(name)); // there is no such file
    return file;
  };
}

const inBytes = (reply: Reply): Reply => (typeof reply.body === 'string' ? { ...reply, body: Buffer.from(reply.body) } : reply);

/**
 * The one place where answers are made. All headers go into one plain object: set on the node response one by one, they cost a
 * tenth of the polling path.
 */
export const respond = ({ status, headers, body }: Reply, exchange: Exchange): Response =>
  new Response(body, { status, headers: { ...exchange.headers, ...headers } });
