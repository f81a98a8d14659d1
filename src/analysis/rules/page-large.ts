import { pageRule } from '../rule.ts';

/** The HTML alone, after decompression; that of nearly all pages of the web is smaller by far. */
const MOST_BYTES = 1024 * 1024;

export const pageLarge = pageRule({
  id: 'page.large',
  severity: 'low',
  title: 'HTML of the page is larger than 1 MiB',
  why: 'It takes long to load and to lay out, above all on phones, and search engines read a document only up to a certain size.',
  fix: 'Divide the page, or move what is embedded in it (data, styles, scripts, images) into files of its own.',
  check: ({ httpStatus, facts, bytes }) => (httpStatus === 200 && facts !== null && bytes > MOST_BYTES ? [{ bytes }] : []),
});
