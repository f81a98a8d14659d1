import type { Caller } from '#domain/account.ts';
import { notFound } from '#domain/errors.ts';
import type { Finding, Severity } from '#domain/finding.ts';
import type { CrawlId } from '#domain/ids.ts';
import type { Store } from '#store/store.ts';
import { type List, type ListInput, readList } from './list.ts';
import { requireScope } from './require-scope.ts';

/** What a rule says of itself. */
export type RuleText = { readonly title: string; readonly why: string; readonly fix: string };
/** Null for a rule that this version does not have: a finding may be older than the rules. */
export type DescribeRule = (rule: string) => RuleText | null;

export type DescribedFinding = Finding & { readonly description: RuleText | null };

export type ListFindingsInput = ListInput & { readonly severity?: Severity | undefined; readonly rule?: string | undefined };

/** Empty until the crawl is final. Throws `not_found`, `invalid_cursor`. */
export type ListFindings = (id: CrawlId, input: ListFindingsInput, caller: Caller) => Promise<List<DescribedFinding>>;

type Deps = { readonly store: Pick<Store, 'listFindings'>; readonly describeRule: DescribeRule };

export function createListFindings({ store, describeRule }: Deps): ListFindings {
  return async (id, { severity, rule, ...input }, caller) => {
    requireScope(caller, 'crawls:read');
    const { organizationId } = caller;
    const filter = { ...(severity !== undefined && { severity }), ...(rule !== undefined && { rule }) };
    const { items, nextCursor } = await readList<Finding>(input, {
      scope: { list: 'findings', organizationId, filter: { crawl: id, severity: severity ?? null, rule: rule ?? null } },
      positionOf: ({ ordinal }) => [ordinal],
      parts: ['number'],
      async read(after, limit) {
        const query = { ...filter, limit, ...(after !== null && { afterOrdinal: Number(after[0]) }) };
        const findings = await store.listFindings(organizationId, id, query);
        if (findings === null) throw notFound();
        return findings;
      },
    });
    return { items: items.map((finding) => ({ ...finding, description: describeRule(finding.rule) })), nextCursor };
  };
}
