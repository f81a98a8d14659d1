/** Text in UTF-8, each of its bytes as one character: what a socket takes without encoding it once more. */
export const bytesOf = (text: string): string => Buffer.from(text).toString('latin1');

/** The head of an unmasked frame that is a whole text message, in the form of `bytesOf` (RFC 6455 §5.2). `length` is that of the payload in bytes. */
export function frameHead(length: number): string {
  if (length < 126) return String.fromCharCode(WHOLE_TEXT, length);
  if (length < 0x1_00_00) return String.fromCharCode(WHOLE_TEXT, 126, length >> 8, length & 0xff);
  const head = Buffer.alloc(10);
  head.set([WHOLE_TEXT, 127]);
  head.writeBigUInt64BE(BigInt(length), 2);
  return head.toString('latin1');
}

/** FIN, and the opcode of text. */
const WHOLE_TEXT = 0x81;
