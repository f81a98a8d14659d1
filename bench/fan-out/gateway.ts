// crawlgate's gateway with its real store, bus and service; what a worker would publish is made up here, with the time in `error`.
import { openEmbedded } from '../lib/embedded.ts';
import { clockMs, serve } from './messages.ts';

const { key, bus, snapshot, listen } = await openEmbedded('fan-out');
const port = await listen();

let version = snapshot.version;
serve({ port, key, crawlId: snapshot.id }, () => {
  version++;
  const counters = { ...snapshot.counters, discovered: version, fetched: version };
  void bus.publish({ ...snapshot, counters, version, error: String(clockMs()) });
});
