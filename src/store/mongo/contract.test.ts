import { storeContract } from '../contract/store-contract.ts';
import { mongoHarness } from './fixtures/harness.ts';
import { withServer } from './fixtures/with-server.ts';

withServer('MongoDB', (url, admin) => storeContract('mongo', mongoHarness(url, admin)));
