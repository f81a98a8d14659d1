import { type Config, ConfigError, type Role } from '#config/config.ts';

/** Throws a `ConfigError`, one line that says what to set, when the role cannot work with this store and bus. Shows no URL: it may carry a password. */
export function checkRole(role: Role, { store, busUrl }: Pick<Config, 'store' | 'busUrl'>): void {
  if (store.kind === 'sqlite') {
    if (role !== 'all')
      throw new ConfigError(
        `role ${role} needs a store and a bus that processes share: set STORE_URL=mongodb://… and BUS_URL=redis://…, or use role all`,
      );
    if (busUrl !== null)
      throw new ConfigError('BUS_URL is set, but the store is SQLite, which serves one process: unset it, or set STORE_URL=mongodb://…');
  } else if (busUrl === null) {
    throw new ConfigError(`role ${role} on MongoDB needs the bus that tells other processes of updates: set BUS_URL=redis://…`);
  }
}
