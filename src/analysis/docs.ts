import { RULES } from './registry.ts';

const inTable = (text: string): string => text.replaceAll('<', '&lt;').replaceAll('|', '\\|');

/** docs/rules.md, from the registry. */
export function rulesMarkdown(): string {
  const rows = RULES.map(
    ({ id, severity, title, why, fix }) => `| \`${id}\` | ${severity} | **${inTable(title)}.** ${inTable(why)} | ${inTable(fix)} |`,
  );
  return `# Rules

<!-- Generated from src/analysis by \`npm run generate\`. -->

What a crawl is checked for. Each finding names its rule, with the same words as here, the page it is about (\`url\`; null when it is about
several) and the facts that show it (\`evidence\`). The same fault has the same \`id\` in the next crawl of the site, so that two crawls can
be compared. Of one rule at most 10,000 findings are kept for a crawl.

\`high\`: something that visitors or search engines need is missing or broken, or visitors are at risk. \`medium\`: some visitors are
hindered, or search engines are told what the site may not mean. \`low\`: could be better; there may be good reasons for it as it is.

What is on a page is judged where a search engine may list it: HTML, answered with 200, and not \`noindex\`, be it by meta robots or by
\`X-Robots-Tag\`. Pages that were cut off are left out, and so are, but by \`title.missing\`, variants: pages that name another one of their
host as canonical. A canonical on another host leaves no page out, for a copy for tests names the published site. Blocked pages, and those
that were found but not fetched before the crawl ended, are not judged; the list of pages says why each is blocked (\`…/pages?status=blocked\`).

| rule | severity | what is wrong, and why it matters | what to do |
|---|---|---|---|
${rows.join('\n')}
`;
}
