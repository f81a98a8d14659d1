import { randomUUID } from 'node:crypto';
import { type Command, InvalidArgumentError } from 'commander';
import type { Organization } from '#domain/account.ts';
import type { OrganizationId } from '#domain/ids.ts';
import { organizationOf, removalOf, withAccounts } from './accounts.ts';
import type { Context } from './context.ts';
import { addOrgsDelete } from './orgs-delete.ts';
import { printRecord, printRows, timeOf } from './output.ts';

type Json = { readonly json: boolean };

const MOST_QUOTA = 1_000_000_000;

function readName(text: string): string {
  if (!/^[a-z0-9-]{1,64}$/.test(text)) throw new InvalidArgumentError('It must be 1 to 64 of a-z, 0-9 and -.');
  return text;
}

function readQuota(text: string): number {
  if (!/^\d{1,10}$/.test(text) || Number(text) > MOST_QUOTA)
    throw new InvalidArgumentError(`It must be a whole number from 0 to ${MOST_QUOTA}.`);
  return Number(text);
}

const recordOf = ({ id, name, monthlyUrlQuota, createdAt }: Organization) => ({ id, name, monthlyUrlQuota, createdAt: timeOf(createdAt) });

/** `crawlgate orgs create|list|set-quota|delete`. */
export function addOrgs(program: Command, context: Context): void {
  const orgs = program.command('orgs').description('create, list and delete organizations, set their monthly URL quota');

  orgs
    .command('create')
    .description('create an organization')
    .argument('<name>', '1 to 64 of a-z, 0-9 and -', readName)
    .option('--quota <pages>', 'pages a month (default: MONTHLY_URL_QUOTA)', readQuota)
    .option('--json', 'print JSON', false)
    .action(async (name: string, { quota, json }: Json & { quota?: number }) => {
      const monthlyUrlQuota = quota ?? context.config().monthlyUrlQuota;
      const created = await withAccounts(context, async (accounts) => {
        const answer = await accounts.createOrganization({ id: randomUUID() as OrganizationId, name, monthlyUrlQuota });
        if (answer !== 'taken') return answer;
        const isGoing = (await removalOf(accounts, name)) !== null;
        throw new Error(`there is an organization ${JSON.stringify(name)} already${isGoing ? ', which is being removed' : ''}`);
      });
      printRecord(context, recordOf(created), json);
    });

  orgs
    .command('list')
    .description('list the organizations')
    .option('--json', 'print JSON', false)
    .action(async ({ json }: Json) => {
      const organizations = await withAccounts(context, (accounts) => accounts.listOrganizations());
      await printRows(
        context,
        organizations.map(recordOf),
        [
          ['NAME', (row) => row.name],
          ['ID', (row) => row.id],
          ['QUOTA A MONTH', (row) => row.monthlyUrlQuota],
          ['CREATED', (row) => row.createdAt],
        ],
        json,
      );
    });

  orgs
    .command('set-quota')
    .description('set how many pages an organization may fetch a month, from the current month on')
    .argument('<organization>', 'name or id')
    .argument('<pages>', 'pages a month; 0 stops new crawls', readQuota)
    .option('--json', 'print JSON', false)
    .action(async (idOrName: string, pages: number, { json }: Json) => {
      const changed = await withAccounts(context, async (accounts) => {
        const { id } = await organizationOf(accounts, idOrName);
        return accounts.setMonthlyUrlQuota(id, pages);
      });
      if (changed === null) throw new Error(`there is no organization ${JSON.stringify(idOrName)} any more`);
      printRecord(context, recordOf(changed), json);
    });
  addOrgsDelete(orgs, context);
}
