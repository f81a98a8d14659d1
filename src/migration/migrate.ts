import type { Organization } from '#domain/account.ts';
import type { OrganizationId } from '#domain/ids.ts';
import { COPY_KINDS } from '#store/copy-store.ts';
import { copyCrawls } from './copy-crawls.ts';
import { createCopyRecords, MigrationRefused, type Stores } from './copy-records.ts';
import { compareCounts, countAll, type KindCount, type Progress } from './counts.ts';

export type MigrationOptions = {
  /** Id or name; null: every one. */
  readonly organization: string | null;
  readonly progress: Progress;
  /** Aborted: the migration rejects with the signal's reason after the step that is under way. */
  readonly signal: AbortSignal;
};

/**
 * Copies organizations, with everything that is theirs, from one store to another, over the port alone, and counts both. Nothing is
 * overwritten. Repeatable: what is in the target already is left out, so that a migration that was cut is completed by another one.
 *
 * No server may run on either store meanwhile. The source is brought to rest (its outboxes are relayed, half-done ends completed) and
 * otherwise left as it is. A running crawl goes without its lease, with its frontier, its charge and its holds: the first worker on
 * the target that claims it goes on where it was. What is being removed is left out. Rejects with `MigrationRefused` when there is no such organization (or none), and when a record
 * of the target has the key, the name or the secret of one of the source and other content; organizations and keys are looked at
 * before anything is written.
 */
export type Migrate = (options: MigrationOptions) => Promise<KindCount[]>;

const RELAYED_AT_ONCE = 100;

export function createMigrate(stores: Stores): Migrate {
  const { from, to } = stores;
  const records = createCopyRecords(stores);

  async function chosen({ organization: idOrName, progress }: MigrationOptions): Promise<readonly Organization[]> {
    const removals = await from.listOrganizationRemovals();
    if (idOrName === null) {
      const all = await from.listOrganizations();
      for (const { name } of removals) progress.leaveOut(name);
      if (all.length === 0) throw new MigrationRefused('the source has no organizations: is it the store that was meant?');
      return all;
    }
    if (removals.some(({ id, name }) => id === idOrName || name === idOrName))
      throw new MigrationRefused(`the organization ${JSON.stringify(idOrName)} is being removed`);
    const found = await from.findOrganization(idOrName);
    if (found === null) throw new MigrationRefused(`the source has no organization ${JSON.stringify(idOrName)}`);
    return [found];
  }

  /** Most of what cannot be copied is found out by this: a target that is in use, or that a server has been started on. */
  async function lookFirst({ id, name }: Organization): Promise<void> {
    const named = await to.findOrganization(name);
    if (named !== null && named.id !== id)
      throw new MigrationRefused(`the target has another organization ${JSON.stringify(name)}, ${named.id}`);
    if ((await to.listOrganizationRemovals()).some((removal) => removal.id === id || removal.name === name))
      throw new MigrationRefused(`the target is removing an organization ${JSON.stringify(name)}: wait for the end of that`);
    await records.refuseDifferent('organization', { organizationId: id });
    await records.refuseDifferent('key', { organizationId: id });
  }

  async function copyOrganization(organizationId: OrganizationId, { progress, signal }: MigrationOptions): Promise<void> {
    for (const kind of COPY_KINDS) {
      if (kind === 'crawl') await copyCrawls({ ...stores, records, progress, signal }, organizationId);
      else if (kind !== 'page' && kind !== 'finding')
        await records.copyAll(kind, { organizationId }, (count) => progress.add(kind, count), signal);
    }
  }

  return async (options) => {
    const organizations = await chosen(options);
    while ((await from.relayEvents(RELAYED_AT_ONCE)) > 0) options.signal.throwIfAborted();
    for (const organization of organizations) await lookFirst(organization);
    options.progress.begin(await countAll(from, organizations));
    for (const { id } of organizations) await copyOrganization(id, options);
    return compareCounts(from, to, organizations);
  };
}
