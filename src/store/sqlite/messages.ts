import type { MessagePort } from 'node:worker_threads';
import type { Writes } from './operations.ts';

/** From a thread that uses the store to the store thread, on a port of its own. */
export type WriteRequest = { readonly id: number; readonly method: keyof Writes; readonly args: readonly unknown[] };
/** The answer, after the commit. `unavailable`: whether the write has happened is unknown. */
export type WriteReply = { readonly id: number } & (
  | { readonly value: unknown }
  | { readonly error: unknown }
  | { readonly unavailable: string }
);

/** From the process's main thread to the store thread: another user's port; or the end, after the writes that have arrived. */
export type Order = { readonly connect: MessagePort } | { readonly close: true };
/** From the store thread to the main thread, once: the database is open and migrated, or why not. */
export type Report = { readonly ready: true } | { readonly failed: string };

/** From the main thread to a linked thread: the port to the store thread that is alive now. */
export type Relink = { readonly port: MessagePort };
