import { resolve } from 'node:path';
import { parseNetwork } from '#domain/address.ts';
import { LOG_LEVELS, type LogLevel } from '#telemetry.ts';

/** What is wrong with a value, as the middle of a sentence. */
export class Wrong extends Error {}

export function wholeNumber(least: number, most: number): { readonly accepts: string; readonly read: (text: string) => number } {
  return {
    accepts: `a whole number from ${least} to ${most}`,
    read(text) {
      if (!/^-?\d{1,15}$/.test(text)) throw new Wrong('is not a whole number');
      if (Number(text) < least) throw new Wrong('is too small');
      if (Number(text) > most) throw new Wrong('is too large');
      return Number(text);
    },
  };
}

export function readRate(text: string): number {
  const rate = /^\d{1,6}(\.\d{1,6})?$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isNaN(rate)) throw new Wrong('is not a number');
  if (rate < 0.01) throw new Wrong('is too small');
  if (rate > 10_000) throw new Wrong('is too large');
  return rate;
}

/** Without the brackets of an IPv6 address. */
export function readHost(text: string): string {
  const bare = text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text;
  const parsed = URL.parse(`http://${bare.includes(':') ? `[${bare}]` : bare}/`);
  if (parsed === null || !/^[\w.:-]+$/.test(bare)) throw new Wrong('is not a host name or IP address');
  return bare;
}

/** Without a slash at its end, so that a path can be appended. */
export function readPublicUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null || !['http:', 'https:'].includes(url.protocol)) throw new Wrong('is not an absolute http or https URL');
  if (url.username !== '' || url.password !== '') throw new Wrong('contains credentials');
  if (url.search !== '' || url.hash !== '') throw new Wrong('contains a query or a fragment');
  return url.href.replace(/\/+$/, '');
}

export const ROLES = ['all', 'gateway', 'worker'] as const;
/** Which parts run in a process. */
export type Role = (typeof ROLES)[number];

export function readRole(text: string): Role {
  const role = ROLES.find((known) => known === text);
  if (role === undefined) throw new Wrong('is not a role');
  return role;
}

/** Where the store is. */
export type StoreLocation = { readonly kind: 'sqlite'; readonly path: string } | { readonly kind: 'mongodb'; readonly url: string };

/** Credentials, hosts, and perhaps a database and options: the driver looks at the rest when the store is opened. */
const MONGODB_URL = /^mongodb(\+srv)?:\/\/([^@/?#]+@)?[^@/?#,\s]+(,[^@/?#,\s]+)*(\/[^/?#@\s]*)?(\?[^#\s]*)?$/;

export function readStoreUrl(text: string): StoreLocation {
  const [scheme = '', ...rest] = text.split(':');
  const path = rest.join(':');
  if (scheme === 'mongodb' || scheme === 'mongodb+srv') {
    if (!MONGODB_URL.test(text)) throw new Wrong('is not a MongoDB connection string (credentials in it must be percent-encoded)');
    return { kind: 'mongodb', url: text };
  }
  if (scheme !== 'sqlite')
    throw new Wrong(`has ${rest.length > 0 && /^[\w+.-]+$/.test(scheme) ? `the scheme "${scheme}"` : 'no scheme'}, which is not supported`);
  if (path === '' || path.includes('\0')) throw new Wrong('names no file');
  if (path === ':memory:' || path.startsWith('//') || path.includes('?')) throw new Wrong('is not the path of a file');
  return { kind: 'sqlite', path: resolve(path) };
}

export function readBusUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null || !['redis:', 'rediss:'].includes(url.protocol)) throw new Wrong('is not a redis or rediss URL');
  if (url.hostname === '') throw new Wrong('names no host');
  if (!/^\/?\d{0,5}$/.test(url.pathname)) throw new Wrong('has a path that is not the number of a database');
  if (url.search !== '' || url.hash !== '') throw new Wrong('contains a query or a fragment');
  try {
    decodeURIComponent(url.username + url.password);
  } catch {
    throw new Wrong('has credentials that are not percent-encoded');
  }
  return text;
}

export function readNetworks(text: string): readonly string[] {
  const cidrs = text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
  for (const cidr of cidrs) {
    try {
      parseNetwork(cidr);
    } catch {
      throw new Wrong(`names ${JSON.stringify(cidr)}, which is neither an address nor a network in CIDR form`);
    }
  }
  return cidrs;
}

/** As browsers send them (RFC 6454 §6.2), or `*` alone. */
export function readOrigins(text: string): readonly string[] {
  const origins = text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
  if (origins.length === 1 && origins[0] === '*') return origins;
  for (const origin of origins) {
    const url = URL.parse(origin);
    const known = url !== null && ['http:', 'https:'].includes(url.protocol) ? url.origin : null;
    if (known === null) throw new Wrong(`names ${JSON.stringify(origin)}, which is no http or https origin`);
    if (known !== origin) throw new Wrong(`names ${JSON.stringify(origin)}, whose origin is ${known}`);
  }
  return origins;
}

export function readApiKey(text: string): string {
  if (!/^[\x21-\x7e]*$/.test(text)) throw new Wrong('has a character that is not printable ASCII, or a space');
  if (text.length < 24) throw new Wrong(`has ${text.length} characters`);
  if (text.length > 256) throw new Wrong(`has ${text.length} characters`);
  return text;
}

export function readLogLevel(text: string): LogLevel {
  const level = LOG_LEVELS.find((known) => known === text);
  if (level === undefined) throw new Wrong('is not a level');
  return level;
}

export function readBoolean(text: string): boolean {
  if (text !== 'true' && text !== 'false') throw new Wrong('is neither true nor false');
  return text === 'true';
}

export function readPath(text: string): string {
  if (text.includes('\0')) throw new Wrong('is not a path');
  return resolve(text);
}
