import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { prepareWriter } from './database.ts';
import { MIGRATIONS } from './schema.ts';

const schemaOf = (db: DatabaseSync): string =>
  db
    .prepare("select sql from sqlite_schema where sql is not null and name not like 'sqlite_%' order by tbl_name, type desc, name")
    .all()
    .map((row) => `${String(row.sql).replace(/\s+/g, ' ')};\n`)
    .join('');

test('the steps lead to the printed schema', async () => {
  const db = new DatabaseSync(':memory:');
  prepareWriter(db);
  expect(db.prepare('pragma user_version').get()?.user_version).toBe(MIGRATIONS.length);
  await expect(schemaOf(db)).toMatchFileSnapshot('schema.sql');
});

test('preparing a database again changes nothing', () => {
  const db = new DatabaseSync(':memory:');
  prepareWriter(db);
  const before = schemaOf(db);
  prepareWriter(db);
  expect(schemaOf(db)).toBe(before);
});

test('a step that fails leaves the database as it was', () => {
  const db = new DatabaseSync(':memory:');
  db.exec('create table robots (x)');
  expect(() => prepareWriter(db)).toThrow(/robots/);
  expect(db.prepare('pragma user_version').get()?.user_version).toBe(0);
  expect(db.prepare('select count(*) as count from sqlite_schema').get()?.count).toBe(1);
  expect(db.isTransaction).toBe(false);
});
