import type { Sql } from './sql.ts';

/** Crawls that nobody can read any more, by their numbers: what belongs to them goes in small steps. */
export type Trash = {
  /** Takes crawls away from everybody. */
  discard(crawls: readonly { readonly n: number }[]): void;
  /** Removes up to `limit` pages, or findings, of one discarded crawl; answers how many, 0 when nothing is left of any. */
  empty(limit: number): number;
};

export const createTrash = (sql: Sql): Trash => ({
  discard(crawls) {
    for (const { n } of crawls) {
      sql.run('insert into trash (crawl) values (?)', n);
      sql.run('delete from crawls where n = ?', n);
    }
  },
  empty(limit) {
    for (;;) {
      const crawl = sql.get<{ crawl: number }>('select crawl from trash order by crawl limit 1')?.crawl;
      if (crawl === undefined) return 0;
      const removed =
        sql.run(
          'delete from pages where crawl = ?1 and seq in (select seq from pages where crawl = ?1 order by seq limit ?2)',
          crawl,
          limit,
        ) ||
        sql.run(
          `delete from findings where crawl = ?1
           and (run, ordinal) in (select run, ordinal from findings where crawl = ?1 order by run, ordinal limit ?2)`,
          crawl,
          limit,
        );
      if (removed > 0) return removed;
      sql.run('delete from trash where crawl = ?', crawl);
    }
  },
});
