import { type ApiKey, type Organization, SCOPES } from '#domain/account.ts';
import type { Usage } from '#domain/quota.ts';
import type { Builder } from './builder.ts';

/** Who asks, and for whom: nothing of it is read before it is asked for. */
export function addViewer(builder: Builder): void {
  const quota = builder.objectRef<Usage>('Quota').implement({
    description: "An organization's pages of the current month (UTC).",
    fields: (t) => ({
      limit: t.exposeInt('limit', { description: 'Pages that may be fetched.' }),
      used: t.exposeInt('used', { description: 'Pages fetched; exact at any instant.' }),
      reserved: t.exposeInt('reserved', { description: 'Pages that running crawls may still fetch of what was granted to them.' }),
      remaining: t.exposeInt('remaining', { description: 'What is left: limit less used and reserved, not below 0.' }),
      resetsAt: t.expose('resetsAt', { type: 'DateTime', description: 'When the next month begins.' }),
    }),
  });
  const organization = builder.objectRef<Organization>('Organization').implement({
    description: 'The tenant: what an API key can see belongs to its organization.',
    fields: (t) => ({
      id: t.exposeID('id', { description: 'A UUID.' }),
      name: t.exposeString('name', { description: 'Unique.' }),
      quota: t.field({
        type: quota,
        nullable: true, // a key without the scope is still told the rest
        description: 'What it may fetch this month, and what it has fetched; null only with an error. Needs the scope `crawls:read`.',
        resolve: (_parent, _args, { service, caller }) => service.getUsage(caller),
      }),
    }),
  });
  const apiKey = builder.objectRef<ApiKey>('ApiKey').implement({
    description: 'An API key; its secret is shown only when it is made.',
    fields: (t) => ({
      id: t.exposeID('id', { description: 'A UUID.' }),
      name: t.exposeString('name', { description: 'What the operator called it.' }),
      prefix: t.exposeString('prefix', { description: 'The first characters of the secret, to tell keys apart by.' }),
      scopes: t.exposeStringList('scopes', { description: `What it may do: some of ${SCOPES.join(', ')}.` }),
    }),
  });
  const viewer = builder.objectRef<object>('Viewer').implement({
    description: 'Whoever asks.',
    fields: (t) => ({
      organization: t.field({
        type: organization,
        description: 'The organization that the API key belongs to.',
        resolve: (_parent, _args, { service, caller }) => service.getOrganization(caller),
      }),
      apiKey: t.field({
        type: apiKey,
        description: 'The API key that was sent.',
        resolve: (_parent, _args, { service, caller }) => service.getApiKey(caller),
      }),
    }),
  });
  builder.queryField('viewer', (t) => t.field({ type: viewer, description: 'Whoever asks.', resolve: () => ({}) }));
}
