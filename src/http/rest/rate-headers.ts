import { START_WINDOW_MS, STARTS_PER_WINDOW, type StartAllowance } from '#domain/start-ring.ts';
import { REQUEST_WINDOW_MS, type RequestAllowance } from '#service/limit-requests.ts';

/** The fields of draft-ietf-httpapi-ratelimit-headers: policy, and what is left of it. */
export type RateHeaders = { readonly 'RateLimit-Policy': string; readonly RateLimit: string };

const seconds = (milliseconds: number): number => Math.ceil(milliseconds / 1000);

const STARTS_POLICY = `"starts";q=${STARTS_PER_WINDOW};w=${seconds(START_WINDOW_MS)}`;

export const startsHeaders = ({ remaining, resetMs }: StartAllowance): RateHeaders => ({
  'RateLimit-Policy': STARTS_POLICY,
  RateLimit: `"starts";r=${remaining};t=${seconds(resetMs)}`,
});

export const requestsHeaders = ({ limit, remaining, resetMs }: RequestAllowance): RateHeaders => ({
  'RateLimit-Policy': `"requests";q=${limit};w=${seconds(REQUEST_WINDOW_MS)}`,
  RateLimit: `"requests";r=${remaining};t=${seconds(resetMs)}`,
});
