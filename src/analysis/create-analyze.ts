import { setImmediate as turn } from 'node:timers/promises';
import { LeaseLost } from '#domain/lease.ts';
import type { Page } from '#domain/page.ts';
import type { Claim, RunStore } from '#store/store.ts';
import type { Analyze } from './analyze.ts';
import { createFindingWriter, type FindingWriter } from './finding-writer.ts';
import { createIncomingLinks } from './incoming-links.ts';
import type { PageRule, Rule, SiteRule, Told } from './rule.ts';

/** Pages read at once, with their links; a page is at most 1 MiB of them. */
const PAGES_PER_READ = 50;
/** The most seqs that one `readPagesBySeq` takes. */
const SEQS_PER_READ = 1_000;

export type AnalyzeDeps = {
  readonly store: Pick<RunStore, 'readPages' | 'readPagesBySeq' | 'addFindings'>;
  readonly rules: readonly Rule[];
};

/** A run's access to the store, with 'lost' turned into `LeaseLost`. */
type Run = { readonly store: AnalyzeDeps['store']; readonly claim: Claim; readonly signal: AbortSignal; readonly writer: FindingWriter };

/**
 * One pass over the pages in chunks, letting other work of the thread go on between them. The same pages give the same findings
 * with the same ordinals, so that a run may be repeated under its token.
 */
export function createAnalyze({ store, rules }: AnalyzeDeps): Analyze {
  const pageRules = rules.filter((rule): rule is PageRule => rule.kind === 'page');
  const siteRules = rules.filter((rule): rule is SiteRule => rule.kind === 'site');
  return async (claim, signal) => {
    const run = { store, claim, signal, writer: createFindingWriter(store, claim) };
    const links = createIncomingLinks();
    const checks = siteRules.map((rule) => ({ rule, check: rule.begin(links) }));
    for await (const page of readAll(run)) {
      for (const rule of pageRules) for (const evidence of rule.check(page)) run.writer.add(rule, page, evidence);
      links.page(page);
      for (const { check } of checks) check.page(page);
    }
    for (const { rule, check } of checks) await tellAll(run, rule, check.end());
    await run.writer.flush();
    return run.writer.count();
  };
}

async function* readAll({ store, claim, signal, writer }: Run) {
  let afterSeq = -1;
  for (;;) {
    signal.throwIfAborted();
    const pages = await store.readPages(claim.snapshot.id, claim.token, afterSeq, PAGES_PER_READ);
    if (pages === 'lost') throw new LeaseLost();
    yield* pages;
    const last = pages.at(-1);
    if (last === undefined) return;
    afterSeq = last.seq;
    await writer.flushFull();
    await turn();
  }
}

/** Reads the pages that a rule's findings name, for as many findings at once as one read can serve. */
async function tellAll(run: Run, rule: SiteRule, findings: Iterable<Told>): Promise<void> {
  let waiting: Told[] = [];
  let seqs = new Set<number>();
  const tellWaiting = async () => {
    const pages = await readBySeq(run, seqs);
    for (const { seqs, tell } of waiting) {
      const { page, evidence } = tell(seqs.flatMap((seq) => pages.get(seq) ?? []));
      run.writer.add(rule, page, evidence);
    }
    [waiting, seqs] = [[], new Set()];
    await run.writer.flushFull();
    await turn();
  };
  for (const told of findings) {
    if (run.writer.isFull(rule)) break;
    if (seqs.size + told.seqs.length > SEQS_PER_READ) await tellWaiting();
    waiting.push(told);
    for (const seq of told.seqs) seqs.add(seq);
  }
  await tellWaiting();
}

async function readBySeq({ store, claim, signal }: Run, seqs: ReadonlySet<number>): Promise<ReadonlyMap<number, Page>> {
  signal.throwIfAborted();
  if (seqs.size === 0) return new Map();
  const pages = await store.readPagesBySeq(claim.snapshot.id, claim.token, [...seqs]);
  if (pages === 'lost') throw new LeaseLost();
  return new Map(pages.map((page) => [page.seq, page]));
}
