import { unavailable } from '#domain/errors.ts';
import type { Store } from '../store.ts';
import type { Reads } from './operations.ts';
import { retryBusy } from './retry.ts';
import type { Write } from './writer.ts';

export type AssembleOptions = {
  readonly reads: Reads;
  readonly write: Write;
  /** Called once; when it resolves nothing is open any more. */
  readonly shut: () => Promise<void>;
};

/** The port over reads on this thread's own connection and writes that answer after their commit, so that a later read sees them. */
export function assembleStore({ reads, write: submit, shut }: AssembleOptions): Store {
  let closing: Promise<void> | null = null;

  async function read<M extends keyof Reads>(method: M, ...args: Parameters<Reads[M]>): Promise<ReturnType<Reads[M]>> {
    if (closing !== null) throw unavailable('The store is closed.');
    const step = (): ReturnType<Reads[M]> => Reflect.apply(reads[method], undefined, args);
    return retryBusy(step);
  }

  const write: Write = (method, ...args) =>
    closing === null ? submit(method, ...args) : Promise.reject(unavailable('The store is closed.'));

  return {
    ensureDefaults: (...args) => write('ensureDefaults', ...args),
    createOrganization: (...args) => write('createOrganization', ...args),
    listOrganizations: (...args) => read('listOrganizations', ...args),
    findOrganization: (...args) => read('findOrganization', ...args),
    setMonthlyUrlQuota: (...args) => write('setMonthlyUrlQuota', ...args),
    beginOrganizationRemoval: (...args) => write('beginOrganizationRemoval', ...args),
    listOrganizationRemovals: (...args) => read('listOrganizationRemovals', ...args),
    continueOrganizationRemoval: (...args) => write('continueOrganizationRemoval', ...args),
    createKey: (...args) => write('createKey', ...args),
    listKeys: (...args) => read('listKeys', ...args),
    findKey: (...args) => read('findKey', ...args),
    findKeyBySecret: (...args) => read('findKeyBySecret', ...args),
    rotateKey: (...args) => write('rotateKey', ...args),
    revokeKey: (...args) => write('revokeKey', ...args),

    createCrawl: (...args) => write('createCrawl', ...args),
    getStartAllowance: (...args) => read('getStartAllowance', ...args),
    getCrawl: (...args) => read('getCrawl', ...args),
    getSnapshots: (...args) => read('getSnapshots', ...args),
    getVersions: (...args) => read('getVersions', ...args),
    listChanged: (...args) => read('listChanged', ...args),
    listCrawls: (...args) => read('listCrawls', ...args),
    getQueuePositions: (...args) => read('getQueuePositions', ...args),
    countCrawls: (...args) => read('countCrawls', ...args),
    cancelCrawl: (...args) => write('cancelCrawl', ...args),
    deleteCrawl: (...args) => write('deleteCrawl', ...args),
    getSites: (...args) => read('getSites', ...args),
    listSites: (...args) => read('listSites', ...args),
    listPages: (...args) => read('listPages', ...args),
    listFindings: (...args) => read('listFindings', ...args),
    getUsage: (...args) => read('getUsage', ...args),

    whoYields: (...args) => read('whoYields', ...args),
    getQueue: (...args) => read('getQueue', ...args),
    claim: (...args) => write('claim', ...args),
    heartbeat: (...args) => write('heartbeat', ...args),
    release: (...args) => write('release', ...args),
    reapLeases: (...args) => write('reapLeases', ...args),
    readFrontier: (...args) => read('readFrontier', ...args),
    commitPages: (...args) => write('commitPages', ...args),
    grantQuota: (...args) => write('grantQuota', ...args),
    beginAnalysis: (...args) => write('beginAnalysis', ...args),
    readPages: (...args) => read('readPages', ...args),
    readPagesBySeq: (...args) => read('readPagesBySeq', ...args),
    addFindings: (...args) => write('addFindings', ...args),
    finish: (...args) => write('finish', ...args),
    getRobots: (...args) => read('getRobots', ...args),
    putRobots: (...args) => write('putRobots', ...args),

    acquireLeadership: (...args) => write('acquireLeadership', ...args),
    relayEvents: (...args) => write('relayEvents', ...args),
    listEvents: (...args) => read('listEvents', ...args),
    sweep: (...args) => write('sweep', ...args),
    now: (...args) => read('now', ...args),

    // What is answered is of the kind that was asked for; `read` knows only that it is of some kind.
    readCopies: (...args) => read('readCopies', ...args) as Promise<never>,
    findCopies: (...args) => read('findCopies', ...args) as Promise<never>,
    insertCopies: (...args) => write('insertCopies', ...args),
    countCopies: (...args) => read('countCopies', ...args),
    countLiveLeases: (...args) => read('countLiveLeases', ...args),

    async ping() {
      await write('ping');
      await read('findOrganization', '');
    },
    close() {
      closing ??= shut();
      return closing;
    },
  };
}
