import { expectSame } from './report.ts';
import { type Load, wrk } from './wrk.ts';

export const CONNECTIONS = 32;

export type Server = {
  readonly address: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Of the process so far. */
  readonly cpuSeconds: () => Promise<number>;
};
export type Measured = Load & { readonly cpuMicroseconds: number };

/** Puts a server under wrk. Throws `WrongWork` when an answer was another than 200. */
export async function load({ address, headers, cpuSeconds }: Server, script: string, seconds: number): Promise<Measured> {
  const before = await cpuSeconds();
  const measured = await wrk(address, { connections: CONNECTIONS, seconds, script, headers });
  expectSame('answers other than 200', 0, measured.refused);
  return { ...measured, cpuMicroseconds: (((await cpuSeconds()) - before) * 1e6) / (measured.requestsPerSecond * seconds) };
}
