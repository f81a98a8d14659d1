import { describe, expect, it } from 'vitest';
import { contentTypeOf } from './content-type.ts';
import { processorTime } from './fixtures/processor-time.ts';

describe('the type of a response', () => {
  it.each<[string[], string | null]>([
    [[], null],
    [[' text/html; charset=utf-8 '], 'text/html; charset=utf-8'],
    [[''], null],
    [['html'], null],
    [['*/*'], null],
    [['Unknown/Unknown'], null],
    [['application/unknown; x=y'], null],
    [['text/plain', 'text/html'], 'text/html'],
    [['text/html; charset=gbk, text/html'], 'text/html; charset=gbk'],
    [['text/html', 'Text/HTML;charset=gbk'], 'Text/HTML;charset=gbk'],
    [['text/html; charset=gbk', 'text/plain'], 'text/plain'],
    [['text/html', '*/*', 'nonsense'], 'text/html'],
  ])('said by %j is %j', (values, type) => {
    expect(contentTypeOf(values)).toBe(type);
  });

  it('is found in time in proportion to the header', () => {
    const began = processorTime();
    for (const part of [',', ' ', 'a/', 'a/a;', '/', ' ,']) contentTypeOf([part.repeat(30_000), `${part.repeat(30_000)}x`]);
    expect(processorTime() - began).toBeLessThan(500);
  });
});
