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

Titles are judged on pages that a search engine may list: HTML, answered with 200, and not \`noindex\`, be it by meta robots or by
\`X-Robots-Tag\`. Blocked pages are not judged; the list of pages says why each is blocked (\`…/pages?status=blocked\`).

| rule | severity | what is wrong, and why it matters | what to do |
|---|---|---|---|
${rows.join('\n')}
`;
}
