import type { IncomingMessage } from 'node:http';
import { Refusal } from '#domain/errors.ts';

const MOST_BODY_BYTES = 64 * 1024;

/** `application/json`, and of its parameters only a charset, which RFC 8259 §8.1 lets be UTF-8 alone. */
const JSON_IN_UTF8 = /^application\/json[ \t]*(?:;[ \t]*charset[ \t]*=[ \t]*"?utf-8"?[ \t]*)?;?$/i;

/** Reads a JSON body. Throws `unsupported_media_type`, `payload_too_large`, or `invalid_request` for what is not JSON in UTF-8. */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  const { 'content-type': type = '', 'content-encoding': coding = 'identity' } = request.headers;
  if (!JSON_IN_UTF8.test(type.trim())) throw new Refusal('unsupported_media_type', 'Send the body as application/json.');
  if (coding.toLowerCase() !== 'identity') throw new Refusal('unsupported_media_type', 'Send the body without Content-Encoding.');
  const bytes = await readBounded(request, MOST_BODY_BYTES);
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    const detail = bytes.length === 0 ? 'must be JSON, and is empty' : 'must be JSON in UTF-8';
    throw new Refusal('invalid_request', 'The body is not JSON.', { errors: [{ detail, pointer: '' }] });
  }
}

/** Throws `payload_too_large` as soon as that is known: by the declared length, or once that much has arrived. */
export async function readBounded(request: IncomingMessage, most: number): Promise<Buffer> {
  const tooLarge = (length: string): Refusal =>
    new Refusal('payload_too_large', `The body is ${length} bytes long; at most ${most} are allowed.`);
  const declared = request.headers['content-length'];
  if (Number(declared ?? 0) > most) throw tooLarge(declared ?? '');
  const chunks: Buffer[] = [];
  let length = 0;
  return new Promise((resolve, reject) => {
    const settle = (act: () => void): void => {
      request.off('data', onData).off('end', onEnd).off('close', onClose);
      act();
    };
    const onData = (chunk: Buffer): void => {
      length += chunk.length;
      if (length > most) settle(() => reject(tooLarge(`more than ${most}`)));
      else chunks.push(chunk);
    };
    const onEnd = (): void => settle(() => resolve(Buffer.concat(chunks)));
    const onClose = (): void =>
      settle(() => reject(new Refusal('invalid_request', 'The body broke off.', { errors: [{ detail: 'broke off', pointer: '' }] })));
    request
      .on('data', onData)
      .on('end', onEnd)
      .on('close', onClose)
      .on('error', () => {});
  });
}
