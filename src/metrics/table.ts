/** One family of /metrics. */
export type Metric = {
  readonly kind: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  /** Besides `thread`, which every series has. Each is of a closed list: what a client or a site chooses is never a label. */
  readonly labels: readonly string[];
  /** Upper bounds of a histogram, in the unit of its name. */
  readonly buckets?: readonly number[];
};

const counter = (help: string, ...labels: string[]): Metric => ({ kind: 'counter', help, labels });
const gauge = (help: string, ...labels: string[]): Metric => ({ kind: 'gauge', help, labels });
const histogram = (buckets: readonly number[], help: string, ...labels: string[]): Metric => ({ kind: 'histogram', help, labels, buckets });

const ANSWER_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const STORE_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 10];
const WAIT_SECONDS = [0.1, 0.5, 1, 5, 15, 60, 300, 900, 3_600];
const CRAWL_SECONDS = [1, 5, 15, 60, 300, 900, 3_600, 10_800, 21_600];
const GC_SECONDS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1];

/**
 * Every metric by its name, in the order in which they are documented. The names are public: alerts and dashboards hang on them.
 * What is of the process or of Node has the names by which the usual dashboards know it.
 */
export const METRICS = {
  crawlgate_build_info: gauge('Always 1: the version of crawlgate and of Node.', 'version', 'node'),
  crawlgate_thread_up: gauge('Whether the thread answered this scrape within a second. Without it its other series are missing.', 'thread'),

  crawlgate_http_request_duration_seconds: histogram(
    ANSWER_SECONDS,
    'Requests by the template of their route (`none`: no route), method (`other`: an unusual one) and class of the status (`abandoned`: the client had gone). Streams and WebSockets are counted below instead.',
    'route',
    'method',
    'status',
  ),
  crawlgate_starts_total: counter(
    'Starts of crawls that were well-formed: `accepted` (repeats of one included), or the code of the refusal.',
    'outcome',
  ),
  crawlgate_graphql_operations_total: counter(
    'GraphQL operations over HTTP and WebSocket by type (`unknown`: a document that is not valid or too large) and outcome: `ok`, `errors` in the answer, or `refused` before anything was executed.',
    'type',
    'outcome',
  ),
  crawlgate_streams_open: gauge('Open now: `websocket`, `subscription` (on WebSockets), `graphql_sse` and `rest_sse`.', 'kind'),
  crawlgate_streams_opened_total: counter('The same, as many as were opened.', 'kind'),
  crawlgate_updates_sent_total: counter('Updates given to watchers, by what they watch through.', 'kind'),
  crawlgate_updates_skipped_total: counter('Updates of WebSocket subscriptions that a newer one replaced because the client was slow.'),

  crawlgate_crawls_claimed_total: counter(
    'Crawls taken by this worker, by the phase in which they were: one that is not `queued` is resumed.',
    'phase',
  ),
  crawlgate_crawl_wait_seconds: histogram(WAIT_SECONDS, "From the accepted start to the first claim, by the store's clock."),
  crawlgate_crawls_ended_total: counter('Crawls ended by this process.', 'state', 'reason'),
  crawlgate_crawl_duration_seconds: histogram(CRAWL_SECONDS, "From the accepted start to the end, by the store's clock.", 'state'),
  crawlgate_crawls_running: gauge('Crawls that this worker runs now.'),
  crawlgate_crawls_capacity: gauge('Crawls that it runs at most: WORKER_CRAWLS.'),
  crawlgate_leases_lost_total: counter('Runs that ended because another worker had the crawl, or no heartbeat came through.'),
  crawlgate_queue_crawls: gauge(
    'Crawls that wait for a worker, over all processes: each process that answers clients tells the same. Missing while the store does not answer.',
  ),
  crawlgate_queue_oldest_seconds: gauge('How long the oldest of them has waited since its start; 0 when none waits.'),
  crawlgate_pages_total: counter('Pages stored, by status.', 'status'),
  crawlgate_pages_blocked_total: counter('Blocked pages by what decided: `robots`, `address_guard` or `nofollow`.', 'reason'),

  crawlgate_store_operation_duration_seconds: histogram(
    STORE_SECONDS,
    'Calls of the store by method and outcome: `ok`, `lost` (the lease was), `unavailable`, `error`. `commitPages` is the commit of a batch; `sweep`, `reapLeases` and `relayEvents` are the runs of the sweeper.',
    'method',
    'outcome',
  ),
  crawlgate_swept_records_total: counter('Records that were removed because they were older than the retention.'),
  crawlgate_events_relayed_total: counter('Events that were brought to the log.'),

  crawlgate_bus_messages_total: counter(
    'Snapshots on the Redis bus: `published`, `dropped` (reached nobody) or `broken` (received, and no snapshot).',
    'outcome',
  ),
  crawlgate_bus_gaps_total: counter('Times that messages may have been lost, after which watchers re-read.'),
  crawlgate_bus_connected: gauge('Whether Redis answers the bus.'),
  crawlgate_request_limit_fallbacks_total: counter('Requests that were counted by this process alone because Redis did not answer.'),
  crawlgate_request_limit_connected: gauge('Whether Redis answers the counter of requests.'),

  process_start_time_seconds: gauge('Start of the process since the Unix epoch.'),
  process_cpu_user_seconds_total: counter('CPU time in user mode, all threads.'),
  process_cpu_system_seconds_total: counter('CPU time in the kernel, all threads.'),
  process_resident_memory_bytes: gauge('Resident memory, all threads.'),
  process_open_fds: gauge('Open file descriptors; only on Linux.'),
  nodejs_eventloop_active_seconds_total: counter(
    'Time in which the event loop of the thread was busy: its rate is the utilization, 1 is saturated.',
  ),
  nodejs_eventloop_lag_p50_seconds: gauge('Median delay of the event loop since the scrape before.'),
  nodejs_eventloop_lag_p99_seconds: gauge('99th percentile of the same.'),
  nodejs_eventloop_lag_max_seconds: gauge('The longest of the same.'),
  nodejs_heap_size_used_bytes: gauge('JavaScript heap in use.'),
  nodejs_heap_size_total_bytes: gauge('JavaScript heap allocated.'),
  nodejs_external_memory_bytes: gauge('Memory of objects outside the heap.'),
  nodejs_gc_duration_seconds: histogram(GC_SECONDS, 'Garbage collections: `minor`, `major`, `incremental`, `weakcb`.', 'kind'),
} as const satisfies Readonly<Record<string, Metric>>;

export type MetricName = keyof typeof METRICS;
