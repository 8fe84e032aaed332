import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { formatTimestamp, HOUR, MINUTE } from '../../../src/base/time.js';
import { createService, type Service } from '../../../src/service/index.js';
import { isNightly } from '../../suite.js';
import { AUTHORIZATION } from '../local-service.js';
import { MemoryArchive, originalPost } from '../memory-archive.js';
import { findChromium, launchChromium } from './find-chromium.js';

const where =
  findChromium() === undefined
    ? ' (skipped: apt-get install chromium, or set MILLRACE_CHROMIUM)'
    : '';

const JOBS = 40;
const PHONE = { width: 375, height: 740 };
const SMALL_PHONE = { width: 320, height: 640 };
const MAX_HEIGHT = 3_000;

const PAGES: readonly (readonly [address: string, primary: readonly string[]])[] = [
  ['/console', []],
  ['/console/explore', ['Search']],
  ['/console/explore/rules', ['Test']],
  ['/console/jobs', []],
  ['/console/jobs?page=2', []],
  ['/console/jobs/QUOTED', ['Accept']],
  ['/console/jobs/DELIVERED', []],
  ['/console/streams', []],
  ['/console/streams/rules', ['Add']],
  ['/console/compliance?last=1d', []],
  ['/console/usage', []],
  ['/console/requests', []],
  ['/console/faults', ['Plant the fault']],
  ['/console/faults?kind=cut', ['Plant the fault']],
  ['/status', []],
];
const LIVE = ['jobs', 'jobs/QUOTED', 'streams', 'compliance', 'requests'];

let browser: Browser;
let context: BrowserContext;
let service: Service;
let baseUrl: string;
let jobs: readonly string[];

// In these tests, the pages have many rows. `browser.test.ts` opens them with few rows, and the
// tests of each page read them without a browser.
describe.skipIf(where !== '' || !isNightly)(
  `console pages with many rows, without scripts${where},`,
  () => {
    beforeAll(async () => {
      browser = await launchChromium();
      await fillService();
      context = await browser.newContext({ javaScriptEnabled: false });
      context.setDefaultTimeout(60_000);
      const page = await context.newPage();
      await page.goto(`${baseUrl}/console`);
      await page.getByLabel('Email').fill('dev@example.com');
      await page.getByLabel('Password').fill('local-service');
      await page.getByRole('button', { name: 'Sign in' }).click();
    });
    afterAll(async () => {
      await browser?.close();
      await service?.stop();
    });
    afterEach(async () => {
      for (const page of context.pages()) await page.close();
    });

    const open = async (address: string, viewport = PHONE): Promise<Page> => {
      const page = await context.newPage();
      await page.setViewportSize(viewport);
      await page.goto(addressOf(address));
      return page;
    };

    it.each(PAGES)(
      'are short, show the main action first and fit a phone: %s',
      async (address, primary) => {
        const page = await open(address);
        expect(await page.evaluate('document.documentElement.scrollHeight')).toBeLessThanOrEqual(
          MAX_HEIGHT,
        );

        expect(await page.locator('button.main').allInnerTexts()).toEqual(primary);
        const commands = page.locator('details.commands');
        expect(await commands.count()).toBeLessThanOrEqual(1);
        expect(await page.locator('details.commands[open]').count()).toBe(0);

        const levels = await page
          .locator('h1, h2, h3, h4')
          .evaluateAll(all => all.map(one => Number(one.tagName.slice(1))));
        expect(levels[0]).toBe(1);
        for (const [index, level] of levels.slice(1).entries())
          expect([index, level - Number(levels[index])]).toEqual([
            index,
            expect.toSatisfy(atMostOne),
          ]);
        expect(await page.locator('th:not([scope])').count()).toBe(0);

        await page.setViewportSize(SMALL_PHONE);
        await page.locator('details').evaluateAll(all => {
          for (const one of all) one.setAttribute('open', '');
        });
        expect(await tooWide(page)).toEqual([]);
      },
    );

    it('all have different titles', async () => {
      const titles: string[] = [];
      const page = await open('/console');
      for (const [address] of PAGES) {
        await page.goto(addressOf(address));
        titles.push(await page.title());
      }
      // Two addresses show the page of faults, each with a different form.
      expect(new Set(titles).size).toBe(PAGES.length - 1);
    });

    it('split their lists with page links', async () => {
      const page = await open('/console/jobs');
      const first = await page.getByRole('rowheader').allInnerTexts();
      expect(first).toHaveLength(12);
      await page.getByRole('link', { name: 'Older' }).click();
      await page.getByText(`13 to 24 of ${JOBS}`).waitFor();
      const second = await page.getByRole('rowheader').allInnerTexts();
      expect(second).toHaveLength(12);
      expect(second).not.toEqual(expect.arrayContaining([first[0]]));
      for (let i = 0; i < 2; i++) await page.getByRole('link', { name: 'Older' }).click();
      expect(await page.getByRole('rowheader').count()).toBe(JOBS - 36);
      expect(await page.getByText(`37 to ${JOBS} of ${JOBS}`).isVisible()).toBe(true);
      expect(await page.getByRole('link', { name: 'Older' }).count()).toBe(0);
      for (let i = 0; i < 2; i++) await page.getByRole('link', { name: 'Newer' }).click();
      expect(await page.getByRole('rowheader').allInnerTexts()).toEqual(second);
    });

    it('show the name of the current page in the closed menu on a phone', async () => {
      const page = await open('/console/jobs');
      const menu = page.locator('details.menu');
      expect(await menu.locator('summary').textContent()).toBe('Menu Jobs');
      expect(await page.getByRole('link', { name: 'Requests' }).isVisible()).toBe(false);
      await menu.locator('summary').click();
      await page.getByRole('link', { name: 'Requests' }).click();
      expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Requests');
    });

    it.each(LIVE)(
      'include /console/%s, which the user can set to reload itself, and stop again',
      async path => {
        const address = `/console/${path}`;
        const page = await open(address);
        expect(
          await page.locator('main :is(input:not([type=hidden]), select, textarea)').count(),
        ).toBe(0);
        const [, refreshes] = await Promise.all([
          page.getByRole('link', { name: 'Refresh every 5 s' }).click(),
          page.waitForResponse(response => response.url().includes('refresh=5')),
        ]);
        expect(await refreshes.headerValue('refresh')).toBe('5');
        await page.goto(`${addressOf(address)}?refresh=1`);
        await page.waitForResponse(response => response.url().includes('refresh=1'));
        const [, stopped] = await Promise.all([
          page.getByRole('link', { name: 'Stop' }).click(),
          page.waitForResponse(response => !response.url().includes('refresh')),
        ]);
        expect(await stopped.headerValue('refresh')).toBe(null);
      },
    );

    it('show new events if the page reloads itself', async () => {
      const page = await open('/console/requests?refresh=1');
      await ask('/nothing/of/that/name');
      await page.getByText('/nothing/of/that/name', { exact: true }).waitFor();
    });

    it('do not reload themselves if they have a text field', async () => {
      for (const address of ['/console/faults?refresh=1', '/console?refresh=1']) {
        const page = await open('/status');
        const response = await page.goto(addressOf(address));
        expect(await response?.headerValue('refresh')).toBe(null);
      }
    });

    it('show the result of an action under its row, even after a reload', async () => {
      const uuid = String(jobs[JOBS - 20]);
      const page = await open('/console/jobs?page=2');
      const row = page.locator(`#job-${uuid}`);
      const message = page.locator(`#job-${uuid} + tr`);
      await row.getByRole('button', { name: 'Accept' }).click();
      expect(page.url()).toBe(addressOf(`/console/jobs?page=2#job-${uuid}`));
      expect(await message.textContent()).toContain('The job is accepted.');
      expect(await page.getByRole('status').count()).toBe(1);
      await page.reload();
      expect(await message.textContent()).toContain('The job is accepted.');
      await page.goto(addressOf('/console/streams'));
      await page.goto(addressOf('/console/jobs?page=2'));
      expect(await page.getByRole('status').count()).toBe(0);
    });

    it('show the error of an action under its row', async () => {
      const uuid = String(jobs[JOBS - 2]);
      const page = await open('/console/jobs');
      const other = await open('/console/jobs');
      const row = `#job-${uuid}`;
      await other.locator(row).getByRole('button', { name: 'Reject' }).click();
      await other.getByRole('button', { name: 'Reject', exact: true }).click();
      await page.locator(row).getByRole('button', { name: 'Accept' }).click();
      expect(await page.locator(`${row} + tr`).getByRole('alert').textContent()).toBe(
        'The job was not accepted: it is rejected now. Only a quoted job can be accepted.',
      );
    });

    it('show a planted fault in its own row, with the message below', async () => {
      const page = await open('/console/faults?kind=delay');
      await page.getByLabel('Milliseconds').fill('1500');
      await page.getByRole('button', { name: 'Plant the fault' }).click();
      const fault = service.faults.list().at(-1);
      const row = page.locator(`#fault-${fault?.id}`);
      expect(await row.textContent()).toContain('1.5 seconds');
      const message = page.locator(`#fault-${fault?.id} + tr`).getByRole('status');
      expect(await message.textContent()).toBe('The fault is planted.');
      await row.getByRole('button', { name: 'Clear' }).click();
      expect(await page.locator('#planted').getByRole('status').textContent()).toBe(
        '1 fault cleared.',
      );
    });

    it.each([
      ['Move by', '5 years', 'Move'],
      ['Set to', 'yesterday', 'Set'],
      ['Status', '200', 'Plant the fault'],
    ])('keep and focus the typed value of “%s” after an error', async (label, typed, button) => {
      const page = await open('/console/faults');
      // Turns off the browser's validation, so that the service finds the error.
      await page.locator('form').evaluateAll(all => {
        for (const one of all) one.setAttribute('novalidate', '');
      });
      const field = page.getByLabel(label, { exact: true });
      await field.fill(typed);
      await page.getByRole('button', { name: button, exact: true }).click();
      const alert = page.getByRole('alert');
      expect(await alert.count()).toBe(1);
      expect(await field.inputValue()).toBe(typed);
      expect(await field.getAttribute('aria-invalid')).toBe('true');
      expect(await field.getAttribute('aria-describedby')).toContain(
        await alert.getAttribute('id'),
      );
      expect(await page.evaluate('document.activeElement.id')).toBe(await field.getAttribute('id'));
    });
  },
);

/**
 * Returns the elements that extend beyond the right edge of the screen. Ignores table heads, which
 * are hidden on phones.
 */
function tooWide(page: Page): Promise<string[]> {
  return page.evaluate(`[...document.querySelectorAll('body *')]
    .filter(one => one.closest('thead') === null && one.getBoundingClientRect().right > innerWidth + 0.5)
    .map(one => one.tagName + '.' + one.className + ' ' + one.textContent.slice(0, 40))`);
}

const atMostOne = (step: number): boolean => step <= 1;

function addressOf(address: string): string {
  const [quoted = '', delivered = ''] = [jobs[JOBS - 1], jobs[0]];
  return baseUrl + address.replace('QUOTED', quoted).replace('DELIVERED', delivered);
}

async function ask(path: string, body?: object): Promise<string> {
  const response = await fetch(baseUrl + path, {
    headers: { authorization: AUTHORIZATION, 'content-type': 'application/json' },
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  });
  return response.text();
}

async function fillService(): Promise<void> {
  const now = Date.now();
  const posts = Array.from({ length: 100 }, (_, i) =>
    originalPost(now - 40 * MINUTE - i * MINUTE, String(10n ** 18n - BigInt(i)), 'tea or coffee'),
  );
  service = createService({
    archive: new MemoryArchive(posts),
    jobDwellMs: 0,
    jobDollarsPerDay: 500,
    usageAlert: 50,
    limits: {
      jobsPerHourRate: { requests: 100, perMs: HOUR },
      replayConnectRate: { requests: 100, perMs: HOUR },
    },
  });
  ({ baseUrl } = await service.start());
  const window = (hours: number) => ({
    fromDate: formatTimestamp(now - hours * HOUR),
    toDate: formatTimestamp(now - (hours - 1) * HOUR),
  });
  const rules = Array.from({ length: 60 }, (_, i) => ({
    value: `(coffee OR "a long phrase of rule ${i}") lang:en -is:retweet has:links`,
    tag: `tag ${i}`,
  }));
  const made: string[] = [];
  for (let i = 0; i < JOBS; i++) {
    const title = `Weekly report on coffee and tea, ${i}`;
    const job = { publisher: 'twitter', dataFormat: 'original', ...window(3), title, rules };
    const text = await ask(
      '/historical/rulestream/accounts/local/publishers/twitter/jobs.json',
      job,
    );
    made.push(String(/jobs\/([a-z0-9]{10})\.json/.exec(text)?.[1]));
  }
  await service.settled();
  jobs = made;
  await fetch(
    `${baseUrl}/historical/rulestream/accounts/local/publishers/twitter/jobs/${jobs[0]}.json`,
    {
      method: 'PUT',
      headers: { authorization: AUTHORIZATION, 'content-type': 'application/json' },
      body: '{"status":"accept"}',
    },
  );
  for (let i = 0; i < 30; i++) {
    const minutes = Array.from({ length: 30 }, (_, m) =>
      formatTimestamp(now - 3 * HOUR + m * MINUTE),
    );
    if (i % 3 === 0) service.faults.plant({ kind: 'minutes-failed', minutes });
    await ask(
      `/replay/firehose/accounts/local/publishers/twitter/replay.json?${new URLSearchParams(window(3))}`,
    );
  }
  for (let i = 0; i < 100; i++)
    service.compliance.inject(
      `{"delete":{"status":{"id":21239883478447349${i},"id_str":"21239883478447349${i}","user_id":1442399494608906067,"user_id_str":"1442399494608906067"},"timestamp_ms":"1795326858768"}}`,
      now - i * MINUTE,
    );
  const query = encodeURIComponent('(coffee OR tea) lang:en -is:retweet');
  for (let i = 0; i < 40; i++)
    await ask(`/search/30day/accounts/local/dev.json?query=${query}&maxResults=100`);
  for (let i = 0; i < 30; i++)
    service.faults.plant({
      kind: 'status',
      status: 503,
      endpoint: 'jobs',
      path: `title-${i}`,
      retryAfter: 60,
    });
  await service.settled();
}
