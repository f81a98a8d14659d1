import { ping as pong } from '#service/ping.ts';
import { operation } from './operation.ts';
import { isoTime, renderList, renderSite } from './render.ts';
import * as schemas from './schemas.ts';

export const ping = operation({
  operationId: 'ping',
  method: 'get',
  path: '/v1/ping',
  tag: 'Account',
  summary: 'Check the API key',
  description: 'Tells whose key it is. Any valid key may ask.',
  scope: null,
  limit: 'requests',
  query: schemas.noQuery,
  body: null,
  answers: { 200: { description: 'The key is valid.', schema: schemas.Pong } },
  problems: [],
  run: async (_service, _request, caller) => ({ status: 200, body: pong(caller) }),
});

export const getUsage = operation({
  operationId: 'getUsage',
  method: 'get',
  path: '/v1/usage',
  tag: 'Account',
  summary: "Get this month's usage",
  description: 'What the organization may fetch in the current month (UTC), and what it has fetched.',
  scope: 'crawls:read',
  limit: 'requests',
  query: schemas.noQuery,
  body: null,
  answers: { 200: { description: 'The current month.', schema: schemas.Usage } },
  problems: [],
  async run(service, _request, caller) {
    const { month, limit, used, reserved, remaining, resetsAt } = await service.getUsage(caller);
    return { status: 200, body: { month, limit, used, reserved, remaining, resetsAt: isoTime(resetsAt) } };
  },
});

export const listSites = operation({
  operationId: 'listSites',
  method: 'get',
  path: '/v1/sites',
  tag: 'Account',
  summary: 'List sites',
  description: 'Every authority that the organization has crawled, in order of the authority.',
  scope: 'crawls:read',
  limit: 'requests',
  query: schemas.listQuery({}),
  body: null,
  answers: { 200: { description: 'A part of the list.', schema: schemas.listOf('SiteList', schemas.Site) } },
  problems: ['invalid_cursor'],
  run: async (service, { query }, caller) => ({ status: 200, body: renderList(await service.listSites(query, caller), renderSite) }),
});
