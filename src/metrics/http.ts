import type { HttpObserver, StreamKind } from '#http/observe.ts';
import type { Meter } from './meter.ts';
import type { Timing } from './timing.ts';

/** Whatever else a client calls its method is `other`. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
const STREAMS: readonly StreamKind[] = ['websocket', 'subscription', 'graphql_sse', 'rest_sse'];
const STARTS = ['accepted', 'rate_limited', 'quota_exceeded', 'idempotency_mismatch', 'insufficient_scope', 'unavailable'] as const;

/** Counts what the HTTP server does. */
export function createHttpObserver(meter: Meter): HttpObserver {
  const requests = meter.timing('crawlgate_http_request_duration_seconds');
  /** By what the labels are made of, so that a request costs look-ups and no text. */
  const known = new Map<string | null, Map<string, Timing[]>>();
  const starts = meter.counter('crawlgate_starts_total');
  const operations = meter.counter('crawlgate_graphql_operations_total');
  const open = meter.gauge('crawlgate_streams_open');
  const opened = meter.counter('crawlgate_streams_opened_total');
  const updates = { subscription: 0, graphql_sse: 0, rest_sse: 0, skipped: 0 };

  // so that the first of each is a rise
  for (const outcome of STARTS) starts.inc({ outcome }, 0);
  for (const kind of STREAMS) {
    open.set({ kind }, 0);
    opened.inc({ kind }, 0);
  }
  meter.readCounter('crawlgate_updates_sent_total', () => ({
    subscription: updates.subscription,
    graphql_sse: updates.graphql_sse,
    rest_sse: updates.rest_sse,
  }));
  meter.readCounter('crawlgate_updates_skipped_total', () => ({ all: updates.skipped }));

  function timingsOf(route: string | null, method: string): Timing[] {
    const byMethod = known.get(route) ?? new Map<string, Timing[]>();
    known.set(route, byMethod);
    const timings = byMethod.get(method) ?? [];
    byMethod.set(method, timings);
    return timings;
  }

  return {
    answered(route, method, status, ms) {
      const name = METHODS.has(method) ? method : 'other';
      const timings = known.get(route)?.get(name) ?? timingsOf(route, name);
      const level = status === null ? 0 : Math.trunc(status / 100);
      const timing = timings[level] ?? requests.series(route ?? 'none', name, level === 0 ? 'abandoned' : `${level}xx`);
      timings[level] = timing;
      timing.observe(ms / 1_000);
    },
    started: (outcome) => starts.inc({ outcome }),
    executed: (type, outcome) => operations.inc({ type, outcome }),
    opened(kind) {
      open.inc({ kind });
      opened.inc({ kind });
    },
    closed: (kind) => open.dec({ kind }),
    updates,
  };
}
