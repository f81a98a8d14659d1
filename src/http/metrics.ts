import type { Service } from '#service/service.ts';
import { secretOf } from './admit.ts';
import type { Exchange } from './exchange.ts';
import type { Reply } from './reply.ts';

export const METRICS_PATH = '/metrics';

/** Reads the metrics of the whole process. */
export type Scrape = () => Promise<{ readonly contentType: string; readonly text: string }>;

type Deps = { readonly service: Pick<Service, 'admitScrape'>; readonly scrape: Scrape };

/**
 * Answers a scrape by a key with the scope `metrics`; counted towards no limit. Throws what `AdmitScrape` does. The log line names no
 * organization: what is read belongs to none.
 */
export function createAnswerMetrics({ service, scrape }: Deps): (exchange: Exchange) => Promise<Reply> {
  return async (exchange) => {
    await service.admitScrape(secretOf(exchange));
    const { contentType, text } = await scrape();
    return { status: 200, headers: { 'Content-Type': contentType, 'Cache-Control': 'private, no-store' }, body: text };
  };
}
