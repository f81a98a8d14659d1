import { describe, expect, test } from 'vitest';
import { sameRegistrableDomain } from './registrable-domain.ts';

describe('a registrable domain', () => {
  test.each([
    ['example.com', 'www.example.com', true],
    ['a.example.co.uk', 'example.co.uk', true],
    ['example.com', 'example.org', false],
    ['one.co.uk', 'other.co.uk', false],
    ['one.github.io', 'other.github.io', false],
    ['www.one.github.io', 'one.github.io', true],
    ['10.0.0.1', '10.0.0.1', true],
    ['10.0.0.1', '11.0.0.1', false],
    ['localhost', 'localhost', true],
    ['localhost', 'www.localhost', false],
    ['[::1]', '[::2]', false],
    ['com', 'example.com', false],
  ])('of %s and %s is one: %s', (one, other, same) => {
    expect(sameRegistrableDomain(one, other)).toBe(same);
    expect(sameRegistrableDomain(other, one)).toBe(same);
  });
});
