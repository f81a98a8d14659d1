import { readdirSync } from 'node:fs';
import { constants, monitorEventLoopDelay, PerformanceObserver, performance } from 'node:perf_hooks';
import type { Meter } from './meter.ts';

/** How exactly the delay of the event loop is known, in milliseconds; finer ones wake an idle thread more often. */
const RESOLUTION_MS = 20;

const GC_KINDS: Readonly<Record<number, string>> = {
  [constants.NODE_PERFORMANCE_GC_MAJOR]: 'major',
  [constants.NODE_PERFORMANCE_GC_MINOR]: 'minor',
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL]: 'incremental',
  [constants.NODE_PERFORMANCE_GC_WEAKCB]: 'weakcb',
};

function kindOf(entry: PerformanceEntry): string {
  const detail = 'detail' in entry ? entry.detail : null;
  const kind = typeof detail === 'object' && detail !== null && 'kind' in detail ? Number(detail.kind) : 0;
  return GC_KINDS[kind] ?? 'other';
}

/**
 * The event loop, heap and garbage collections of this thread. prom-client's own collectors are for a process of one thread: they
 * count the whole process's time and memory once in each, and of the collections that are told at once only the first.
 */
export function measureThread(meter: Meter): void {
  const lag = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  lag.enable();
  const seconds = (nanoseconds: number): number => (lag.count === 0 ? 0 : Math.max(0, nanoseconds / 1e9 - RESOLUTION_MS / 1e3));
  meter.gauge('nodejs_eventloop_lag_p50_seconds', () => seconds(lag.percentile(50)));
  meter.gauge('nodejs_eventloop_lag_p99_seconds', () => seconds(lag.percentile(99)));
  // read as the last of the three
  meter.gauge('nodejs_eventloop_lag_max_seconds', () => {
    const longest = seconds(lag.max);
    lag.reset();
    return longest;
  });
  meter.readCounter('nodejs_eventloop_active_seconds_total', () => ({ all: performance.eventLoopUtilization().active / 1e3 }));

  meter.gauge('nodejs_heap_size_used_bytes', () => process.memoryUsage().heapUsed);
  meter.gauge('nodejs_heap_size_total_bytes', () => process.memoryUsage().heapTotal);
  meter.gauge('nodejs_external_memory_bytes', () => process.memoryUsage().external);
  const collections = meter.histogram('nodejs_gc_duration_seconds');
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) collections.observe({ kind: kindOf(entry) }, entry.duration / 1e3);
  });
  observer.observe({ entryTypes: ['gc'] });
}

/** What the process has as a whole: measured by its main thread. */
export function measureProcess(meter: Meter, version: string): void {
  meter.gauge('crawlgate_build_info').set({ version, node: process.version }, 1);
  meter.gauge('process_start_time_seconds', () => performance.timeOrigin / 1e3);
  meter.gauge('process_resident_memory_bytes', () => process.memoryUsage.rss());
  meter.readCounter('process_cpu_user_seconds_total', () => ({ all: process.cpuUsage().user / 1e6 }));
  meter.readCounter('process_cpu_system_seconds_total', () => ({ all: process.cpuUsage().system / 1e6 }));
  if (process.platform === 'linux') meter.gauge('process_open_fds', () => readdirSync('/proc/self/fd').length - 1);
}
