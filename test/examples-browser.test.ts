import { existsSync } from 'node:fs';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Example, KEY, startExample, startWorld } from './fixtures/example.ts';
import { apiOf } from './server-process.ts';

const CHROMIUM = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium';

describe('in a browser', () => {
  if (!existsSync(CHROMIUM)) return void it.skip('(to run: install chromium, or name it in CHROMIUM_PATH)', () => {});

  let browser: Browser;
  beforeAll(async () => {
    // Chromium's sandbox refuses to be started by root, as which containers run.
    browser = await chromium.launch({ executablePath: CHROMIUM, args: process.getuid?.() === 0 ? ['--no-sandbox'] : [] });
  });
  afterAll(() => browser?.close());

  /** Opens a page for a test, which fails when anything is asked of another origin than `origins`, or a script throws. */
  async function withPage(origins: readonly string[], use: (page: Page) => Promise<void>): Promise<void> {
    const page = await browser.newPage();
    page.setDefaultTimeout(45_000); // within that of a test, so that a failure names what was waited for
    const faults: string[] = [];
    page.on('request', (request) => {
      const url = new URL(request.url());
      if (!['data:', 'blob:'].includes(url.protocol) && !origins.includes(url.origin)) faults.push(`asked ${url.href}`);
    });
    page.on('pageerror', (error) => faults.push(String(error)));
    try {
      await use(page);
      expect(faults).toEqual([]);
    } finally {
      await page.close();
    }
  }

  describe('examples/browser', () => {
    let pages: Example;
    let origin: string;
    beforeAll(async () => {
      pages = startExample([process.execPath, 'examples/browser/serve.ts', '0']);
      [, origin = ''] = await pages.said(/CORS_ORIGINS=(\S+)\n/);
    });
    afterAll(() => pages?.[Symbol.asyncDispose]());

    async function fillIn(page: Page, fields: { readonly service: string; readonly key: string; readonly url: string }): Promise<void> {
      await page.goto(origin);
      await page.getByLabel('Service').fill(fields.service);
      await page.getByLabel('API key').fill(fields.key);
      await page.getByLabel('Start URL').fill(fields.url);
      await page.getByRole('button', { name: 'Start' }).click();
    }
    const says = (page: Page, text: string) => page.getByRole('status').filter({ hasText: text }).waitFor();
    const refuses = (page: Page, text: string) => page.getByRole('alert').filter({ hasText: text }).waitFor();

    it('starts a crawl and shows its progress, to the final state', async () => {
      await using world = await startWorld({ CORS_ORIGINS: origin });
      const service = world.server().url;
      await withPage([origin, service], async (page) => {
        await fillIn(page, { service, key: KEY, url: `${world.site.origin}/` });
        await says(page, 'RUNNING FETCHING: 2 of 3 pages, no findings.');
        world.release();
        await says(page, 'DONE FINISHED: 3 of 3 pages,');
        expect(await page.locator('progress').getAttribute('value')).toBe('3');
        expect(await page.getByRole('button').isEnabled()).toBe(true);
      });
    });

    it('goes on with the crawl when the service is restarted', async () => {
      await using world = await startWorld({ CORS_ORIGINS: origin });
      const service = world.server().url;
      await withPage([origin, service], async (page) => {
        await fillIn(page, { service, key: KEY, url: `${world.site.origin}/` });
        await says(page, 'RUNNING FETCHING: 2 of 3 pages');
        await world.restart();
        world.release();
        await says(page, 'DONE FINISHED: 3 of 3 pages,');
      });
    }, 120_000);

    it('shows why it was refused', async () => {
      await using world = await startWorld({ CORS_ORIGINS: origin });
      const service = world.server().url;
      await withPage([origin, service], async (page) => {
        await fillIn(page, { service, key: 'wrong', url: `${world.site.origin}/` });
        await refuses(page, 'The API key is not known, or it was revoked.');
        await fillIn(page, { service, key: KEY, url: 'http://10.0.0.1/' });
        await refuses(page, 'A crawl cannot start from this. must not be the non-public address 10.0.0.1');
      });
    });

    it('says what to do when the service does not let it in', async () => {
      await using world = await startWorld();
      const service = world.server().url;
      await withPage([origin, service], async (page) => {
        await fillIn(page, { service, key: KEY, url: `${world.site.origin}/` });
        await refuses(page, `CORS_ORIGINS=${origin}`);
      });
    });
  });

  describe('GraphiQL', () => {
    /** Chooses one of the operations that the editor holds at first. */
    async function run(page: Page, operation: string): Promise<void> {
      await page.locator('.graphiql-execute-button').click();
      await page.getByRole('menuitem', { name: operation }).click();
    }
    const answers = (page: Page, text: string) => page.locator('.result-window .view-lines').filter({ hasText: text }).waitFor();

    it('runs a query and a live subscription with an API key, and asks no other host for anything', async () => {
      await using world = await startWorld();
      const service = world.server().url;
      await withPage([service], async (page) => {
        await page.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin: service });
        await page.goto(`${service}/graphql`);
        await page.locator('.graphiql-editor-tool .view-lines:visible').click();
        await page.keyboard.press('ControlOrMeta+A');
        await page.evaluate((headers) => navigator.clipboard.writeText(headers), `{"Authorization": "Bearer ${KEY}"}`);
        await page.keyboard.press('ControlOrMeta+V'); // what is typed, the editor completes

        const stream = page.waitForResponse((response) => response.headers()['content-type'] === 'text/event-stream');
        await run(page, 'Watch');
        await stream;
        await apiOf(service, KEY).start({ url: `${world.site.origin}/` });
        await answers(page, '"urlsCrawled": 2');
        world.release();
        await answers(page, '"state": "DONE"');
        await page.locator('.graphiql-execute-button').click(); // stops it

        await run(page, 'Crawls');
        await answers(page, '"hasNextPage": false');
      });
    });
  });
});
