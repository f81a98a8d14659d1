import ipaddr from 'ipaddr.js';

/** A network in CIDR form, parsed. */
export type Network = { readonly cidr: string; readonly contains: (address: string) => boolean };

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** The address itself, with an IPv4-mapped IPv6 address (RFC 4291 §2.5.5.2) told as the IPv4 address it stands for. */
const unmapped = (address: string): Address => ipaddr.process(address);

/**
 * Reads `10.0.0.0/8` or a single address; IPv4 only as four decimal numbers, because `010.0.0.0` means 8.0.0.0 to some and 10.0.0.0
 * to others. Throws a `TypeError` that names `cidr` when it is neither.
 */
export function parseNetwork(cidr: string): Network {
  const text = cidr.includes('/') ? cidr : ipaddr.isValid(cidr) ? `${cidr}/${ipaddr.parse(cidr).kind() === 'ipv4' ? 32 : 128}` : cidr;
  if (!ipaddr.IPv4.isValidCIDRFourPartDecimal(text) && !ipaddr.IPv6.isValidCIDR(text))
    throw new TypeError(`"${cidr}" is not a network in CIDR form, such as 10.0.0.0/8`);
  const [base, bits] = ipaddr.parseCIDR(text);
  return {
    cidr: text,
    contains(address) {
      if (!ipaddr.isValid(address)) return false;
      const candidate = unmapped(address);
      return candidate.kind() === base.kind() && candidate.match(base as never, bits);
    },
  };
}

/** All that is public of IPv6 so far (IANA, RFC 4291 §2.4). The rest has forms that some systems take for IPv4, such as `::7f00:1`. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');

function isPublic(address: Address): boolean {
  if (address.range() !== 'unicast') return false;
  return !(address instanceof ipaddr.IPv6) || address.match(GLOBAL_UNICAST);
}

/** Whether `address` (an IP literal) may be connected to: public, or inside one of `allowed`. */
export function isAllowedAddress(address: string, allowed: readonly Network[]): boolean {
  if (!ipaddr.isValid(address)) return false;
  if (isPublic(unmapped(address))) return true;
  return allowed.some((network) => network.contains(address));
}

/** The IP literal that a WHATWG hostname stands for (`[::1]` without its brackets), or null for a name. */
export function ipLiteralOf(hostname: string): string | null {
  const bare = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  return ipaddr.isValid(bare) ? bare : null;
}

/** Ports that a fetch must not use: the Fetch Standard's "bad port" list, §2.9. */
export const BLOCKED_PORTS: ReadonlySet<number> = new Set([
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110, 111, 113, 115, 117,
  119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636,
  989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
]);
