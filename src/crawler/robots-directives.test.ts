import { describe, expect, it } from 'vitest';
import { processorTime } from './fixtures/processor-time.ts';
import { readRobotsTags } from './robots-directives.ts';

describe('X-Robots-Tag', () => {
  it.each<[string, string[], boolean, boolean]>([
    ['not sent', [], false, false],
    ['empty', [''], false, false],
    ['one word', ['nofollow'], false, true],
    ['in any case, with any spaces', [' NoIndex ,\tNOFOLLOW '], true, true],
    ['without commas', ['noindex nofollow'], true, true],
    ['none', ['none'], true, true],
    ['what allows', ['all', 'index, follow'], false, false],
    ['words that only begin alike', ['nofollows, noindex-x, nonesuch'], false, false],
    ['sent twice', ['noindex', 'nofollow'], true, true],
    ['for this crawler', ['crawlgate: nofollow'], false, true],
    ['for this crawler, oddly written', ['CrawlGate : noindex,nofollow'], true, true],
    ['for every crawler', ['*: nofollow'], false, true],
    ['for another crawler, the whole list', ['googlebot: noindex, nofollow'], false, false],
    ['for another crawler of a name with digits', ['360Spider: noindex, nofollow'], false, false],
    ['for all, then for another', ['noindex, otherbot: nofollow'], true, false],
    ['for another, then for this', ['otherbot: noindex, crawlgate: nofollow'], false, true],
    ['for another in one header, for all in the next', ['otherbot: none', 'nofollow'], false, true],
    ['a date with commas and colons before others', ['unavailable_after: Friday, 25-Jun-10 15:00:00 PST, nofollow'], false, true],
    ['a date with commas between others', ['noindex, unavailable_after: Fri, 25 Jun 2010 15:00:00 GMT, nofollow'], true, true],
    ['a date with its time after a comma', ['unavailable_after: 25 Jun 2010, 15:00:00 GMT, nofollow'], false, true],
    ['a date in ISO 8601', ['unavailable_after: 2010-06-25T15:00:00Z, nofollow'], false, true],
    ['a date for another crawler', ['otherbot: unavailable_after: 25 Jun 2010 15:00:00 PST, nofollow'], false, false],
    ['a date for this crawler', ['crawlgate: unavailable_after: 25 Jun 2010 15:00:00 PST, nofollow'], false, true],
    ['directives with values', ['max-snippet: 20, max-image-preview:large, max-video-preview: -1, noindex'], true, false],
    ['nothing but separators', [',,: ,:,::,'], false, false],
  ])('%s: %j', (_, values, noindex, nofollow) => {
    expect(readRobotsTags(values)).toStrictEqual({ noindex, nofollow });
  });

  it('of a hostile server takes no longer than a pass over it', () => {
    const length = 64 * 1024;
    const hostile = [',', ':', ' ', ' ,', 'a:', 'a: ', 'unavailable_after:', '\t:\t,'].map((part) => part.repeat(length / part.length));
    const began = processorTime();
    for (const value of [...hostile, `${' '.repeat(length)}x`, `${'a'.repeat(length)}: nofollow`]) {
      expect(readRobotsTags([value])).toStrictEqual({ noindex: false, nofollow: false });
    }
    expect(processorTime() - began).toBeLessThan(1_000);
  });
});
