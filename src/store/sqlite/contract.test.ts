import { storeContract } from '../contract/store-contract.ts';
import { sqliteHarness } from './fixtures/harness.ts';

storeContract('sqlite', sqliteHarness);
