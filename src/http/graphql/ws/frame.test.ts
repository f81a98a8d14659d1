import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { bytesOf, frameHead } from './frame.ts';

it.each([0, 1, 125, 126, 127, 65_535, 65_536, 200_000])(
  'A frame of %d bytes is read by a client as the text that it was made of',
  async (length) => {
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false });
    const text = 'é€😀"'.repeat(length / 10) + 'x'.repeat(length % 10);
    const bytes = bytesOf(text);
    expect(bytes).toHaveLength(length);
    server.on('connection', (socket, { socket: connection }) => {
      socket.send('before');
      connection.write(frameHead(bytes.length) + bytes, 'latin1');
      socket.send('after');
    });
    await once(server, 'listening');
    const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const messages: string[] = [];
    client.on('message', (data, isBinary) => {
      messages.push(isBinary ? 'binary' : String(data));
      if (messages.length === 3) client.close();
    });
    await once(client, 'close');
    server.close();
    expect(messages).toEqual(['before', text, 'after']);
  },
);
