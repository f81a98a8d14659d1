import { describe, expect, test } from 'vitest';
import { DEFAULT_KEY_ID, DEFAULT_ORGANIZATION_ID, isUuid, type OrganizationId, siteIdOf } from './ids.ts';

describe('the id of a site', () => {
  test('is the UUIDv5 of its authority in its organization’s namespace, today as in every release', () => {
    expect(siteIdOf(DEFAULT_ORGANIZATION_ID, 'example.com')).toBe('d71e1eb3-3cd8-58dd-a76f-d5f7907c392f');
  });

  test('differs by organization and by port', () => {
    const other = '00000000-0000-4000-8000-0000000000ff' as OrganizationId;
    const ids = [
      siteIdOf(DEFAULT_ORGANIZATION_ID, 'example.com'),
      siteIdOf(DEFAULT_ORGANIZATION_ID, 'example.com:8080'),
      siteIdOf(other, 'example.com'),
    ];
    expect(new Set(ids).size).toBe(3);
    expect(ids.every(isUuid)).toBe(true);
  });
});

describe('a UUID', () => {
  test.each([DEFAULT_ORGANIZATION_ID, DEFAULT_KEY_ID, 'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF', '0190b6a4-0000-7000-8000-000000000000'])(
    'is recognized: %s',
    (text) => expect(isUuid(text)).toBe(true),
  );

  test.each([
    '',
    '00000000000040008000000000000001',
    '{00000000-0000-4000-8000-000000000001}',
    '00000000-0000-4000-8000-00000000000g',
    '00000000-0000-4000-8000-0000000000011',
    ' 00000000-0000-4000-8000-000000000001',
    '00000000-0000-4000-8000-000000000001\n',
  ])('is not any other text: "%s"', (text) => expect(isUuid(text)).toBe(false));
});
