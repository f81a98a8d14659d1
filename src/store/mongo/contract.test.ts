import { MongoClient } from 'mongodb';
import { afterAll, test } from 'vitest';
import { storeContract } from '../contract/store-contract.ts';
import { mongoHarness } from './fixtures/harness.ts';

const url = process.env.MONGODB_TEST_URL;

if (url === undefined) {
  test.skip('the store port on MongoDB: start test/servers/mongo-test-server, or a mongod, and set MONGODB_TEST_URL to its URL', () => {});
} else {
  const admin = new MongoClient(url);
  afterAll(() => admin.close());
  storeContract('mongo', mongoHarness(url, admin));
}
