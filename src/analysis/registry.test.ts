import { expect, test } from 'vitest';
import { SEVERITIES } from '#domain/finding.ts';
import { describeRule, RULES } from './registry.ts';

test('the rules are these, each id once', () => {
  expect(RULES.map(({ id }) => id)).toEqual([
    'http.server_error',
    'http.client_error',
    'http.no_response',
    'redirect.loop',
    'redirect.broken',
    'redirect.chain',
    'link.broken_internal',
    'link.redirected',
    'link.insecure',
    'canonical.broken',
    'title.missing',
    'title.duplicate',
    'title.too_long',
    'description.missing',
    'description.duplicate',
    'description.too_long',
    'h1.missing',
    'h1.multiple',
    'image.alt_missing',
    'lang.missing',
    'lang.invalid',
    'content.thin',
    'page.slow',
    'page.large',
    'page.truncated',
    'page.deep',
    'page.dead_end',
    'site.insecure',
    'site.noindex',
  ]);
});

test.each(RULES.map((rule) => [rule.id, rule] as const))('%s has an id, a severity and its three sentences', (_, rule) => {
  expect(rule.id).toMatch(/^[a-z][a-z0-9]*\.[a-z_]+$/);
  expect(SEVERITIES).toContain(rule.severity);
  expect(rule.title).toMatch(/^[A-Z].*[^.]$/);
  for (const sentence of [rule.why, rule.fix]) expect(sentence).toMatch(/^[A-Z].*\.$/);
});

test('a rule is described by its id, and an unknown id by null', () => {
  expect(describeRule('title.missing')).toEqual({
    title: 'Page has no title',
    why: 'Search results and browser tabs show the title; without one the address stands there.',
    fix: 'Add a <title> of 30 to 60 characters that names what is on this page.',
    severity: 'high',
  });
  expect(describeRule('title.unheard_of')).toBeNull();
  expect(describeRule('toString')).toBeNull();
});
