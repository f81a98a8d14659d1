import { isUtf8 } from 'node:buffer';
import { getEncoding } from 'encoding-sniffer';

export type DecodedText = {
  readonly text: string;
  /** As its decoder names it, such as `windows-1252`. */
  readonly encoding: string;
};

const CHARSET = /;\s*charset\s*=[\s"]*([^\s";]+)/i;
const UTF8_LABEL = /^utf-?8$/i;

/** HTML Standard §13.2.3.2. Browsers still change to what a later meta element says. */
const PRESCAN_BYTES = 1_024;
const MAX_PRESCAN_BYTES = 16 * 1_024;

/** A body as text: by its BOM, the header, a meta element, else UTF-8 if it is valid, else windows-1252. */
export function decodeText(body: Buffer, contentType: string | null): DecodedText {
  const label = CHARSET.exec(contentType ?? '')?.[1];
  // The usual case needs no look into the body but for the BOM of another encoding, which is no UTF-8.
  if (label !== undefined && UTF8_LABEL.test(label) && (body[0] ?? 0) < 0xfe) return decodeAs('utf-8', body);
  const valid = isUtf8(body);
  const encoding = getEncoding(body, {
    defaultEncoding: valid ? 'utf-8' : 'windows-1252',
    maxBytes: valid ? PRESCAN_BYTES : MAX_PRESCAN_BYTES,
    ...(label === undefined ? {} : { transportLayerEncodingLabel: label }),
  });
  try {
    return decodeAs(encoding, body);
  } catch {
    // A label that the Encoding Standard knows and ICU does not, such as x-user-defined.
    return decodeAs('utf-8', body);
  }
}

function decodeAs(label: string, body: Buffer): DecodedText {
  const decoder = new TextDecoder(label);
  return { text: decoder.decode(body), encoding: decoder.encoding };
}
