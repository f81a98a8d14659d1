import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { createGroupCommit, type GroupCommit, type Outcome } from './group-commit.ts';

function open(): { db: DatabaseSync; commits: GroupCommit; begun: () => number } {
  const db = new DatabaseSync(':memory:');
  db.exec('create table t (value unique)');
  const exec = db.exec.bind(db);
  let begun = 0;
  db.exec = (text) => {
    if (text === 'begin immediate') begun++;
    exec(text);
  };
  return { db, commits: createGroupCommit(db), begun: () => begun };
}

const submit = (commits: GroupCommit, write: () => unknown): Promise<Outcome> => new Promise((resolve) => commits.submit(write, resolve));
const valuesOf = (db: DatabaseSync) =>
  db
    .prepare('select value from t order by rowid')
    .all()
    .map((row) => row.value);

test('writes that wait share a transaction, in order, and are answered after its commit', async () => {
  const { db, commits, begun } = open();
  const insert = db.prepare('insert into t values (?)');
  const outcomes = await Promise.all(
    [1, 2, 3].map(async (value) => {
      const outcome = await submit(commits, () => Number(insert.run(value).changes) * value);
      expect(db.isTransaction).toBe(false);
      return outcome;
    }),
  );
  expect(outcomes).toEqual([{ value: 1 }, { value: 2 }, { value: 3 }]);
  expect(begun()).toBe(1);
  expect(valuesOf(db)).toEqual([1, 2, 3]);
});

test('a write that throws leaves nothing behind and harms no other', async () => {
  const { db, commits } = open();
  const insert = db.prepare('insert into t values (?)');
  const wrong = new RangeError('no');
  const outcomes = await Promise.all([
    submit(commits, () => insert.run(1).changes),
    submit(commits, () => {
      insert.run(2);
      throw wrong;
    }),
    submit(commits, () => insert.run(1)),
    submit(commits, () => insert.run(3).changes),
  ]);
  expect(outcomes).toMatchObject([{ value: 1 }, { error: wrong }, { error: { code: 'ERR_SQLITE_ERROR' } }, { value: 1 }]);
  expect(valuesOf(db)).toEqual([1, 3]);
});

test('a thousand writes take a few transactions, none of them endless', async () => {
  const { db, commits, begun } = open();
  const insert = db.prepare('insert into t values (?)');
  await Promise.all(Array.from({ length: 1_000 }, (_, value) => submit(commits, () => insert.run(value))));
  expect(begun()).toBe(4);
  expect(valuesOf(db)).toHaveLength(1_000);
});

test('a full disk is told as unavailable, and writing goes on when there is room', async () => {
  const { db, commits } = open();
  db.exec('pragma max_page_count = 20');
  const insert = db.prepare('insert into t values (zeroblob(200000) || ?)');
  expect(await submit(commits, () => insert.run(1))).toMatchObject({ error: { name: 'Refusal', code: 'unavailable' } });
  db.exec('pragma max_page_count = 20000');
  expect(await submit(commits, () => insert.run(1).changes)).toEqual({ value: 1 });
});

test('a transaction that fails as a whole stores nothing, and every write of it is told', async () => {
  const { db, commits } = open();
  const insert = db.prepare('insert into t values (?)');
  const outcomes = await Promise.all([
    submit(commits, () => insert.run(1)),
    submit(commits, () => {
      db.exec('rollback');
      throw new Error('the transaction is gone');
    }),
    submit(commits, () => insert.run(3)),
  ]);
  for (const outcome of outcomes) expect(outcome).toMatchObject({ error: { code: 'unavailable' } });
  expect(valuesOf(db)).toEqual([]);
});

test('is drained when every write has been settled', async () => {
  const { db, commits } = open();
  const settled: Outcome[] = [];
  commits.submit(
    () => db.exec('insert into t values (1)'),
    (outcome) => settled.push(outcome),
  );
  await commits.drained();
  expect(settled).toHaveLength(1);
  await commits.drained();
});
