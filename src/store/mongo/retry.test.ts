import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { Refusal } from '#domain/errors.ts';
import { told } from './retry.ts';

/** What a socket gives for a write after its server has done `act` to it. */
async function errorOfWrite(act: (socket: Socket) => void): Promise<unknown> {
  const server = createServer((socket) => act(socket.on('error', () => {}))).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').resume();
  const failed = new Promise((resolve) => {
    socket.on('error', () => {});
    socket.on('close', () => void socket.write('too late', resolve));
  });
  const error = await failed;
  server.close();
  return error;
}

// The driver lets the socket's own error through: it was taken for a defect of the service, and answered 500.
describe('a write to the server over a connection', () => {
  it.each<[string, (socket: Socket) => void]>([
    ['that it has ended', (socket) => void socket.end()],
    ['that it has reset', (socket) => void socket.resetAndDestroy()],
  ])('%s is told as unavailable', async (_, act) => {
    const error = await errorOfWrite(act);
    expect(error).toBeInstanceOf(Error);
    expect(told(error)).toSatisfy((refusal) => refusal instanceof Refusal && refusal.code === 'unavailable', String(error));
  });

  it('says what it was where it is a defect', () => {
    const error = new TypeError('undefined is not a function');
    expect(told(error)).toBe(error);
  });
});
