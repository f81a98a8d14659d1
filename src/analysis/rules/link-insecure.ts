import { linkTargets } from '../link-targets.ts';
import { siteRule } from '../rule.ts';

export const linkInsecure = siteRule({
  id: 'link.insecure',
  severity: 'medium',
  title: 'Links lead from https to http',
  why: 'Whoever is between a visitor and the site can read and change what the link asks for, even when it then redirects to https.',
  fix: 'Write https:// in the links on the pages named here, or leave scheme and host out.',
  begin: () =>
    linkTargets({
      isFault: ({ url }) => url.startsWith('http:'),
      counts: ({ url }) => url.startsWith('https:'),
      tell: ({ url, httpStatus }) => ({ target: url, status: httpStatus }),
    }),
});
