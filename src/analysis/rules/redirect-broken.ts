import { createRedirectPaths } from '../redirect-paths.ts';
import { siteRule } from '../rule.ts';
import { createTally } from '../tally.ts';

/** One finding a target, as of links: many old addresses may lead to one page that is gone. */
export const redirectBroken = siteRule({
  id: 'redirect.broken',
  severity: 'high',
  title: 'Redirects lead to a broken page of the site',
  why: 'Whoever follows a link to one of these addresses lands on an error, though the site knows that its page has moved.',
  fix: 'Redirect to where the content is now, or make the target answer again.',
  begin() {
    const redirects = createRedirectPaths();
    return {
      page: redirects.page,
      *end() {
        const targets = createTally<number>();
        for (const { redirects: path, broken } of redirects.paths()) {
          const from = path[0];
          if (broken !== null && from !== undefined) targets.add(broken, from);
        }
        for (const [broken, { count, seqs }] of targets.entries()) {
          yield {
            seqs: [broken, ...seqs],
            tell: ([page, ...from]) => ({
              page: page ?? null,
              evidence: {
                target: page?.url ?? null,
                status: page?.httpStatus ?? null,
                reason: page?.reason ?? null,
                redirectCount: count,
                redirectedFrom: from.map(({ url }) => url),
              },
            }),
          };
        }
      },
    };
  },
});
