import type { LookupAddress } from 'node:dns';
import { lookup as systemLookup } from 'node:dns/promises';
import type { LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import { BLOCKED_PORTS, ipLiteralOf, isAllowedAddress, type Network } from '#domain/address.ts';
import { portOf } from '#domain/url.ts';
import { AddressNotAllowed } from './reasons.ts';

/** Every address that a name has. */
export type Lookup = (hostname: string) => Promise<readonly LookupAddress[]>;

export const lookupBySystem: Lookup = (hostname) => systemLookup(hostname, { all: true, order: 'verbatim' });

/**
 * One look-up of a name at a time, shared by all who ask meanwhile. A look-up cannot be given up, and the process can have a few of them
 * under way: a site whose name server falls silent must not take them all.
 */
function shared(lookup: Lookup): Lookup {
  const underWay = new Map<string, ReturnType<Lookup>>();
  return (hostname) => {
    const known = underWay.get(hostname);
    if (known !== undefined) return known;
    const answer = lookup(hostname).finally(() => underWay.delete(hostname));
    underWay.set(hostname, answer);
    return answer;
  };
}

export type AddressGuard = {
  /** Why `url` may not be asked for, as far as its port and a literal host tell; null when a connection may be tried. */
  readonly refusal: (url: URL) => string | null;
  /**
   * Opens connections for undici, to allowed addresses only. What a name resolves to is checked and connected to in one step, so
   * that no second lookup can answer differently. Fails with `AddressNotAllowed`.
   */
  readonly connect: buildConnector.connector;
  /** Whether every address of a host lies inside the allowed networks. False when it cannot be told. */
  readonly isInAllowedNetwork: (hostname: string) => Promise<boolean>;
};

type Deps = { readonly allowNetworks: readonly Network[]; readonly lookup: Lookup; readonly connectMs: number };

export function createAddressGuard({ allowNetworks, lookup: lookUp, connectMs }: Deps): AddressGuard {
  const lookup = shared(lookUp);
  const refuseLiteral = (hostname: string): string | null => {
    const literal = ipLiteralOf(hostname);
    return literal !== null && !isAllowedAddress(literal, allowNetworks) ? `${hostname} is not a public address.` : null;
  };

  const guardedLookup: LookupFunction = (hostname, options, callback) => {
    lookup(hostname).then(
      (found) => {
        const wanted = options.family === 4 || options.family === 6 ? found.filter(({ family }) => family === options.family) : found;
        const allowed = wanted.filter(({ address }) => isAllowedAddress(address, allowNetworks));
        const [first] = allowed;
        if (first === undefined) callback(new AddressNotAllowed(`${hostname} does not resolve to a public address.`), []);
        else if (options.all) callback(null, allowed);
        else callback(null, first.address, first.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, []),
    );
  };

  const open = buildConnector({ timeout: connectMs, lookup: guardedLookup, allowH2: false });

  return {
    refusal(url) {
      const port = portOf(url);
      return BLOCKED_PORTS.has(port) ? `Port ${port} of ${url.hostname} is not allowed.` : refuseLiteral(url.hostname);
    },
    connect(options, callback) {
      const refused = refuseLiteral(options.hostname);
      if (refused === null) open(options, callback);
      else callback(new AddressNotAllowed(refused), null);
    },
    async isInAllowedNetwork(hostname) {
      if (allowNetworks.length === 0) return false;
      const literal = ipLiteralOf(hostname);
      const addresses = literal === null ? await lookup(hostname).catch(() => []) : [{ address: literal }];
      return addresses.length > 0 && addresses.every(({ address }) => allowNetworks.some((network) => network.contains(address)));
    },
  };
}
