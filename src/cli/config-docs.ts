import { CONFIG_TABLE } from '#config/config.ts';

/** docs/config.md, from the table. */
export function configDocs(): string {
  const rows = CONFIG_TABLE.map(({ name, accepts, default: standard, unit, meaning }) => {
    const value = standard.includes(' ') || standard.startsWith('`') || standard === 'none' ? standard : `\`${standard}\``;
    return `| \`${name}\` | ${accepts.replaceAll('<', '&lt;')} | ${value}${unit === undefined ? '' : ` ${unit}`} | ${meaning} |`;
  });
  return [
    '# Configuration',
    '',
    '<!-- Generated from src/config/config.ts by `npm run generate`. -->',
    '',
    'Everything is set by environment variables. A variable that is absent or empty takes its default; a wrong value ends the start with',
    'one line that names the variable.',
    '',
    '| variable | accepted | default | meaning |',
    '|---|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}
