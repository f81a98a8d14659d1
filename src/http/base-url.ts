/** The base address of what listens on `host` and `port`; an IPv6 address gets its brackets. */
export const baseUrlOf = ({ host, port }: { readonly host: string; readonly port: number }): string =>
  `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
