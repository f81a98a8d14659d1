import { randomUUID } from 'node:crypto';
import { type Command, InvalidArgumentError } from 'commander';
import { type ApiKey, SCOPES, type Scope } from '#domain/account.ts';
import { isUuid, type KeyId } from '#domain/ids.ts';
import { newSecret, storedSecretOf } from '#domain/key-secret.ts';
import { organizationOf, withAccounts } from './accounts.ts';
import type { Context } from './context.ts';
import { printRecord, printRows, timeOf } from './output.ts';

type Json = { readonly json: boolean };
type OfOrganization = Json & { readonly organization: string };

const DEFAULT_SCOPES: readonly Scope[] = ['crawls:read', 'crawls:write', 'webhooks:write'];

function readScopes(text: string): readonly Scope[] {
  const names = [...new Set(text.split(','))];
  const scopes = SCOPES.filter((scope) => names.includes(scope));
  if (scopes.length !== names.length) throw new InvalidArgumentError(`It must be some of ${SCOPES.join(', ')}, separated by commas.`);
  return scopes;
}

function readKeyName(text: string): string {
  if (!/^[^\p{C}]{1,64}$/u.test(text)) throw new InvalidArgumentError('It must be 1 to 64 printable characters.');
  return text;
}

function readKeyId(text: string): KeyId {
  if (!isUuid(text)) throw new InvalidArgumentError('It must be the id of a key; see `crawlgate keys list`.');
  return text.toLowerCase() as KeyId;
}

const recordOf = ({ id, organizationId, name, prefix, scopes, createdAt, revokedAt }: ApiKey) => ({
  id,
  organizationId,
  name,
  prefix,
  scopes,
  createdAt: timeOf(createdAt),
  revokedAt: timeOf(revokedAt),
});

/** The only time that a secret is shown: nothing of it but a hash is kept. */
function printSecret(context: Context, key: ApiKey, secret: string, json: boolean): void {
  printRecord(context, { ...recordOf(key), secret }, json);
  if (!json) context.out('\nThe secret is shown this once; keep it safe.\n');
}

const absent = (id: KeyId): Error => new Error(`there is no key ${id}; see \`crawlgate keys list\``);

/** `crawlgate keys create|list|rotate|revoke`. */
export function addKeys(program: Command, context: Context): void {
  const keys = program.command('keys').description("create, list, rotate and revoke an organization's API keys");

  keys
    .command('create')
    .description('create a key and show its secret, once')
    .option('-o, --organization <organization>', 'name or id', 'default')
    .option('--name <name>', 'what the key is for', readKeyName, 'key')
    .option('--scopes <scopes>', `some of ${SCOPES.join(', ')}, separated by commas (default: all but metrics)`, readScopes)
    .option('--json', 'print JSON', false)
    .action(async ({ organization, name, scopes = DEFAULT_SCOPES, json }: OfOrganization & { name: string; scopes?: readonly Scope[] }) => {
      const secret = newSecret();
      const key = await withAccounts(context, async (accounts) => {
        const { id: organizationId } = await organizationOf(accounts, organization);
        return accounts.createKey({ id: randomUUID() as KeyId, organizationId, name, scopes, ...storedSecretOf(secret) });
      });
      printSecret(context, key, secret, json);
    });

  keys
    .command('list')
    .description('list the keys, revoked ones included; secrets are not kept and cannot be shown')
    .option('-o, --organization <organization>', 'name or id', 'default')
    .option('--json', 'print JSON', false)
    .action(async ({ organization, json }: OfOrganization) => {
      const listed = await withAccounts(context, async (accounts) => accounts.listKeys((await organizationOf(accounts, organization)).id));
      await printRows(
        context,
        listed.map(recordOf),
        [
          ['ID', (row) => row.id],
          ['NAME', (row) => row.name],
          ['SECRET', (row) => `${row.prefix}…`],
          ['SCOPES', (row) => row.scopes.join(',')],
          ['CREATED', (row) => row.createdAt],
          ['REVOKED', (row) => row.revokedAt],
        ],
        json,
      );
    });

  keys
    .command('rotate')
    .description('replace the secret of a key and show the new one, once; the old one is refused from now on')
    .argument('<id>', 'the id of the key', readKeyId)
    .option('--json', 'print JSON', false)
    .action(async (id: KeyId, { json }: Json) => {
      const secret = newSecret();
      const key = await withAccounts(context, async (accounts) => {
        const rotated = await accounts.rotateKey(id, storedSecretOf(secret));
        if (rotated === null && (await accounts.findKey(id)) !== null) throw new Error(`key ${id} is revoked`);
        return rotated;
      });
      if (key === null) throw absent(id);
      printSecret(context, key, secret, json);
    });

  keys
    .command('revoke')
    .description('refuse a key from now on; a running server stops taking it within a second')
    .argument('<id>', 'the id of the key', readKeyId)
    .option('--json', 'print JSON', false)
    .action(async (id: KeyId, { json }: Json) => {
      const key = await withAccounts(context, (accounts) => accounts.revokeKey(id));
      if (key === null) throw absent(id);
      printRecord(context, recordOf(key), json);
    });
}
