import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Account, account, users } from 'millrace';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { formatTimestamp, HOUR, MINUTE } from '../../../src/base/time.js';
import {
  type Addresses,
  createService,
  type Service,
  type ServiceOptions,
} from '../../../src/service/index.js';
import { isNightly } from '../../suite.js';
import { AUTHORIZATION } from '../local-service.js';
import { MemoryArchive } from '../memory-archive.js';
import { findChromium, launchChromium } from './find-chromium.js';
import { EVIL_NAME, hostilePosts } from './hostile-posts.js';
import { tooPale } from './too-pale.js';

const where =
  findChromium() === undefined
    ? ' (skipped: apt-get install chromium, or set MILLRACE_CHROMIUM)'
    : '';

const HOSTILE = `</h2><script>document.title='XSS'</script><img src=x onerror="document.title='XSS'">`;
const LONG = 'unbreakable'.repeat(20);
const CONSOLE_PAGES = [
  ['/console', 'Overview'],
  ['/console/explore?query=tea+or+has:vidoes', 'Explore'],
  ['/console/explore?query=tea', 'Explore'],
  ['/console/explore/rules', 'Rules for a post'],
  ['/console/jobs', 'Jobs'],
  ['/console/streams', 'Streams'],
  ['/console/streams/rules', 'Rules of the stream'],
  ['/console/compliance', 'Compliance'],
  ['/console/usage', 'Usage'],
  ['/console/requests', 'Requests'],
  ['/console/faults?kind=cut', 'Clock and faults'],
  ['/status', 'Status'],
] as const;

let browser: Browser;
/** A service shared by tests that change nothing. */
let busy: Started;
const open: { close(): Promise<unknown> }[] = [];

describe.skipIf(where !== '')(`pages in Chromium${where}`, () => {
  beforeAll(async () => {
    browser = await launchChromium();
  });
  beforeAll(async () => {
    busy = await busyService();
    open.splice(0);
  });
  afterAll(async () => {
    await browser?.close();
    await busy?.service.stop();
  });
  afterEach(async () => {
    for (const one of open.splice(0).toReversed()) await one.close();
  });

  describe('the OAuth sign-in of a user', () => {
    it('leads from a request token to the engagement totals of the user', async () => {
      const { acme, posts, callback, visit } = await application();
      const page = await visit();
      const token = await users.requestToken(acme, { callback: callback.address });
      await page.goto(users.signInAddress(acme, token));
      await page.getByLabel('Handle').fill('@ann');
      await page.getByLabel('Password').fill('local-service');
      await page.getByRole('button', { name: 'Sign in' }).click();
      expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe(
        'Allow Local application?',
      );
      expect(await page.getByText('You are signed in as').textContent()).toContain('Ann @ann');
      await page.getByRole('button', { name: 'Allow', exact: true }).click();
      expect(await page.getByText('Back in the application').isVisible()).toBe(true);
      const came = callback.last();
      expect(came.searchParams.get('oauth_token')).toBe(token.token);
      const verifier = String(came.searchParams.get('oauth_verifier'));
      const access = await users.accessToken(acme, { token, verifier });
      expect(access).toMatchObject({ userId: '7', screenName: 'ann' });
      const ids = posts.map(({ id }) => id);
      const { totals, errors } = await users.engagementTotals(acme, { token: access, ids });
      expect(Object.keys(totals.byPost).sort()).toEqual(ids.slice(0, 2).sort());
      expect(totals.byPost[String(ids[0])]).toMatchObject({ favorites: '3', retweets: '2' });
      expect(errors).toHaveLength(1);
    });

    it('tells the application that the user denied access', async () => {
      const { acme, callback, visit } = await application();
      const page = await visit();
      const token = await users.requestToken(acme, { callback: callback.address });
      await page.goto(users.signInAddress(acme, token));
      await signIn(page);
      await page.getByRole('button', { name: 'Do not allow' }).click();
      await page.getByText('Back in the application').waitFor();
      expect(callback.last().searchParams.get('denied')).toBe(token.token);
      expect(callback.last().searchParams.has('oauth_verifier')).toBe(false);
    });

    it('asks for consent again at /oauth/authorize, but not at /oauth/authenticate', async () => {
      const { acme, callback, visit } = await application();
      const page = await visit();
      const next = () => users.requestToken(acme, { callback: callback.address });
      await page.goto(users.signInAddress(acme, await next()));
      await signIn(page);
      await page.getByRole('button', { name: 'Allow', exact: true }).click();
      await page.getByText('Back in the application').waitFor();
      const second = await next();
      await page.goto(users.signInAddress(acme, second));
      expect(callback.last().searchParams.get('oauth_token')).toBe(second.token);
      // The other browser is not signed in. Its user enters the password, and then returns to the
      // application without a consent page.
      const other = await visit();
      const third = await next();
      await other.goto(users.signInAddress(acme, third));
      await signIn(other);
      await other.getByText('Back in the application').waitFor();
      expect(callback.last().searchParams.get('oauth_token')).toBe(third.token);
      await other.goto(users.signInAddress(acme, await next(), { always: true }));
      expect(await other.getByRole('button', { name: 'Allow', exact: true }).isVisible()).toBe(
        true,
      );
    });

    it('shows the verifier as a PIN, and lets the user revoke access', async () => {
      const { acme, addresses, posts, visit } = await application();
      const page = await visit();
      const token = await users.requestToken(acme, { callback: 'oob' });
      await page.goto(users.signInAddress(acme, token));
      await signIn(page);
      await page.getByRole('button', { name: 'Allow', exact: true }).click();
      const verifier = String(await page.getByLabel('PIN').textContent());
      const access = await users.accessToken(acme, { token, verifier });
      const ids = [String(posts[0]?.id)];
      await users.engagementTotals(acme, { token: access, ids });
      await page.goto(`${addresses.oauthUrl}/oauth/grants`);
      await page.getByRole('button', { name: 'Take back' }).click();
      expect(await page.getByRole('status').textContent()).toContain('sees no more of your totals');
      await expect(users.engagementTotals(acme, { token: access, ids })).rejects.toThrow();
    });

    it('shows a user name with HTML as text that fits a phone', async () => {
      const { acme, callback, visit } = await application();
      const page = await visit({ viewport: PHONE, javaScriptEnabled: true });
      const token = await users.requestToken(acme, { callback: callback.address });
      await page.goto(users.signInAddress(acme, token));
      await expectToFit(page);
      await signIn(page, 'mallory');
      expect(await page.getByText('You are signed in as').textContent()).toContain(
        EVIL_NAME.slice(0, 40),
      );
      await expectToFit(page);
      expect(await page.locator('script, img').count()).toBe(0);
    });
  });

  describe('the console', () => {
    it('has accessible pages that fit the screen', async () => {
      const { addresses, visit } = busy;
      const page = await visit({ viewport: PHONE });
      const expectOnEachScreen = async () => {
        for (const viewport of [PHONE, WIDE])
          for (const colorScheme of ['light', 'dark'] as const) {
            await page.setViewportSize(viewport);
            await page.emulateMedia({ colorScheme });
            await expectToFit(page);
            const screen = [page.url(), viewport.width, colorScheme];
            expect([...screen, await tooPale(page)]).toEqual([...screen, []]);
          }
      };
      await page.goto(`${addresses.consoleUrl}/sign-in`);
      await expectOnEachScreen();
      await signInToConsole(page);
      for (const [address, heading] of CONSOLE_PAGES) {
        await page.goto(addresses.baseUrl + address);
        expect(await page.getByRole('heading', { level: 1 }).allInnerTexts()).toEqual([heading]);
        await page.locator('details').evaluateAll(all => {
          for (const one of all) one.setAttribute('open', '');
        });
        await expectOnEachScreen();
        expect([address, await namelessFields(page)]).toEqual([address, []]);
        expect(await page.getByRole('main').count()).toBe(1);
        for (const table of await page.getByRole('table').all()) {
          expect(await table.locator('caption').textContent()).not.toBe('');
          expect(await table.getByRole('columnheader').count()).toBeGreaterThan(1);
        }
      }
    });

    it.each(isNightly ? [PHONE, WIDE] : [WIDE])(
      'lets the keyboard reach every control, with a visible focus, at $width px',
      async viewport => {
        const { addresses, visit } = busy;
        const page = await visit({ viewport, javaScriptEnabled: true });
        await page.goto(`${addresses.consoleUrl}/sign-in`);
        await signInToConsole(page);
        for (const [address] of CONSOLE_PAGES) {
          // This page reloads only after an hour, because an automatic update would replace the
          // part that has the focus.
          const separator = address.includes('?') ? '&' : '?';
          await page.goto(`${addresses.baseUrl}${address}${separator}refresh=3600`);
          const all = Number(await page.evaluate(`${REACHABLE}.length`));
          expect(all).toBeGreaterThan(5);
          // A date field has a tab stop for each of its parts.
          for (let i = 0; i < all + 30; i++) {
            await page.keyboard.press('Tab');
            await page.evaluate(MARK_FOCUS);
          }
          const missed = await page.evaluate(`${REACHABLE}
            .filter(element => element.dataset.focused !== 'solid')
            .map(element => element.outerHTML)`);
          expect([address, missed]).toEqual([address, []]);
        }
      },
    );

    it('runs no script from posts, rules or names', async () => {
      const { addresses, visit } = busy;
      const page = await visit({ javaScriptEnabled: true });
      const said: string[] = [];
      page.on('console', message => said.push(message.text()));
      page.on('dialog', dialog => dialog.dismiss());
      await page.goto(`${addresses.consoleUrl}/sign-in`);
      await signInToConsole(page);
      for (const [address] of CONSOLE_PAGES) {
        await page.goto(addresses.baseUrl + address);
        expect(await page.title()).not.toBe('XSS');
        expect(await page.locator(FOREIGN).count()).toBe(0);
      }
      await page.goto(`${addresses.consoleUrl}/jobs`);
      await page.getByRole('link', { name: HOSTILE.slice(0, 30) }).click();
      expect(await page.getByText('onerror').first().isVisible()).toBe(true);
      expect(await page.locator(FOREIGN).count()).toBe(0);
      // The content security policy has blocked nothing.
      expect(said).toEqual([]);
    });

    it('accepts jobs, moves the clock and plants faults with its forms', async () => {
      const { addresses, service, visit } = await busyService();
      const page = await visit({ viewport: PHONE });
      await page.goto(`${addresses.consoleUrl}/jobs`);
      await signInToConsole(page);
      // After the sign-in, the browser returns to the page that it has requested first.
      expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Jobs');
      await page.getByRole('button', { name: `Accept ${LONG}` }).click();
      expect(await page.getByRole('status').textContent()).toBe('The job is accepted.');
      await goTo(page, 'Clock and faults');
      await page.getByRole('button', { name: '1 hour' }).click();
      expect(await page.getByRole('status').textContent()).toBe('The clock has changed.');
      await goTo(page, 'Jobs');
      expect(await page.getByText('delivered', { exact: true }).isVisible()).toBe(true);
      await goTo(page, 'Clock and faults');
      await page.getByRole('link', { name: 'status', exact: true }).click();
      await page.getByLabel('Status', { exact: true }).fill('503');
      await page.getByLabel('Family').selectOption('search');
      await page.getByLabel('How often').fill('always');
      await page.getByRole('button', { name: 'Plant the fault' }).click();
      expect(await page.getByRole('status').textContent()).toBe('The fault is planted.');
      await page.goto(addresses.statusUrl);
      expect(await page.getByRole('row', { name: 'Search' }).textContent()).toContain('down');
      await page.goto(`${addresses.consoleUrl}/faults`);
      const planted = page.getByRole('row', { name: '503' });
      await planted.getByRole('button', { name: 'Clear' }).click();
      expect(service.faults.list().filter(({ kind }) => kind === 'status')).toEqual([]);
      await page.getByText('Menu').click();
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.getByRole('heading', { name: 'Sign in' }).waitFor();
      await page.goto(`${addresses.consoleUrl}/jobs`);
      expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Sign in');
    });

    it('can be used with the keyboard alone, starting with the skip link', async () => {
      const { addresses, visit } = busy;
      const page = await visit();
      await page.goto(`${addresses.consoleUrl}/sign-in`);
      await page.keyboard.press('Tab');
      const skip = page.getByRole('link', { name: 'Skip to content' });
      expect((await skip.boundingBox())?.x).toBeGreaterThanOrEqual(0);
      await page.keyboard.press('Enter');
      await page.keyboard.press('Tab');
      await page.keyboard.type('dev@example.com');
      await page.keyboard.press('Tab');
      await page.keyboard.type('local-service');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Overview' }).waitFor();
      await page.keyboard.press('Tab');
      await page.keyboard.press('Tab');
      const outline = await page.evaluate('getComputedStyle(document.activeElement).outlineStyle');
      expect(outline).toBe('solid');
    });

    it('selects a whole command with one click', async () => {
      const { addresses, visit } = busy;
      const page = await visit();
      await page.goto(`${addresses.consoleUrl}/sign-in`);
      await signInToConsole(page);
      await page.getByRole('heading', { name: 'Addresses and commands' }).click();
      const commands = page.locator('details.commands');
      const command = commands.locator('figure', { hasText: '30day' }).locator('code').first();
      await command.click();
      const selected = await page.evaluate('String(getSelection())');
      expect(selected).toBe(await command.textContent());
      expect(selected).toMatch(/^curl .*\/search\/30day\/accounts\/local\/dev\.json/);
    });
  });

  describe('the script of the console', () => {
    const signedInTo = async (path: string, options: BrowserContextOptions = {}) => {
      const { addresses, visit } = busy;
      const page = await visit({ javaScriptEnabled: true, ...options });
      await page.clock.install();
      const foreign: string[] = [];
      page.on('request', request => {
        if (!request.url().startsWith(addresses.baseUrl)) foreign.push(request.url());
      });
      await page.goto(addresses.consoleUrl + path);
      await signInToConsole(page);
      await page.getByRole('heading', { level: 1 }).waitFor();
      // After `load`, the page's script listens to the input.
      await page.waitForLoadState('load');
      /** Waits 2 s of page time, after which the page polls for news. */
      const poll = async () => {
        const answered = page.waitForResponse(response => response.url() === page.url());
        await page.clock.runFor(2_000);
        await answered;
      };
      return { page, addresses, foreign, poll };
    };

    it('shows new requests without a reload, and keeps a row that is open or focused', async () => {
      const { page, addresses, foreign, poll } = await signedInTo('/requests');
      await page.evaluate('window.isSame = true');
      const ask = (path: string) => fetch(addresses.baseUrl + path).then(answer => answer.text());
      await ask('/first/of/two');
      await poll();
      await page.getByText('/first/of/two', { exact: true }).waitFor();
      const first = page.locator('tbody', { hasText: '/first/of/two' });
      const details = first.locator('details');
      await details.locator('summary').click();
      await ask('/second/of/two');
      await poll();
      await page.getByText('/second/of/two', { exact: true }).waitFor();
      expect(await details.getAttribute('open')).toBe('');
      const summary = 'document.activeElement.textContent';
      expect(await page.evaluate(summary)).toBe('Details');
      for (let i = 0; i < 12; i++) await ask(`/more/${i}`);
      await poll();
      // The opened row stays, although newer rows fill the list.
      await page.getByText('/more/11', { exact: true }).waitFor();
      expect(await details.getAttribute('open')).toBe('');
      expect(await page.evaluate(summary)).toBe('Details');
      expect(await page.evaluate('window.isSame')).toBe(true);
      expect(foreign).toEqual([]);
    });

    it('reports that the session or the service has ended, and can be paused', async () => {
      const { page, addresses } = await signedInTo('/requests');
      const state = page.locator('.refresh .state');
      expect(await state.textContent()).toBe('live');
      const isLost = () => page.clock.runFor(2_000);
      await page.route(`${addresses.consoleUrl}/requests`, route => route.abort());
      await isLost();
      await page.getByText(/no answer since \d\d:\d\d:\d\d UTC/).waitFor();
      await page.unroute(`${addresses.consoleUrl}/requests`);
      await page.clock.runFor(2_000);
      await page.getByText('live', { exact: true }).waitFor();
      const cookies = await page.context().cookies();
      await page.context().clearCookies();
      await isLost();
      await page.getByText('signed out: load the page again').waitFor();
      await page.context().addCookies(cookies);
      await page.clock.runFor(2_000);
      await page.getByText('live', { exact: true }).waitFor();
      await page.getByRole('button', { name: 'Pause' }).click();
      expect(await state.textContent()).toBe('paused');
      await fetch(`${addresses.baseUrl}/while/paused`);
      for (let i = 0; i < 3; i++) await page.clock.runFor(2_000);
      expect(await page.getByText('/while/paused', { exact: true }).count()).toBe(0);
      await page.getByRole('button', { name: 'Continue' }).click();
      await page.clock.runFor(2_000);
      await page.getByText('/while/paused', { exact: true }).waitFor();
    });

    it('advances the shown clock, closes the menu on Escape, and searches on Ctrl+Enter', async () => {
      const { page, addresses } = await signedInTo('/faults', { viewport: PHONE });
      const face = page.locator('#face time');
      const instant = async () => Date.parse(String(await face.getAttribute('datetime')));
      const before = await instant();
      await page.clock.runFor(1_000);
      expect(await instant()).toBe(before + 1_000);
      await page.getByText('Menu').click();
      await page.keyboard.press('Escape');
      expect(await page.locator('.menu[open]').count()).toBe(0);
      expect(await page.evaluate('document.activeElement.tagName')).toBe('SUMMARY');
      await page.goto(`${addresses.consoleUrl}/explore`);
      await page.getByRole('textbox', { name: 'Query' }).fill('tea');
      await page.keyboard.press('Control+Enter');
      await page.waitForURL('**query=tea**');
    });

    it('copies JSON, and a command in its TypeScript form', async () => {
      const { page } = await signedInTo('/explore?query=tea', {
        permissions: ['clipboard-read', 'clipboard-write'],
      });
      const copied = () => page.evaluate('navigator.clipboard.readText()');
      await page.getByRole('button', { name: 'Copy as TypeScript' }).click();
      expect(await copied()).toMatch(
        /^import \{ account, pipeline, search, stdout \} from "millrace";\nawait/,
      );
      await page.locator('article').first().getByText('JSON').click();
      await page.locator('article').first().getByRole('button', { name: 'Copy' }).click();
      expect(JSON.parse(String(await copied()))).toHaveProperty('id_str');
    });

    it('does not replace an unchanged part of a page, or a row with selected text', async () => {
      const { page, addresses, poll } = await signedInTo('/jobs');
      await page.evaluate("document.querySelector('#list > *').isSame = true");
      await poll();
      await poll();
      expect(await page.evaluate("document.querySelector('#list > *').isSame")).toBe(true);
      await page.goto(`${addresses.consoleUrl}/requests`);
      await page.evaluate(
        "getSelection().selectAllChildren(document.querySelector('#requests th'))",
      );
      await fetch(`${addresses.baseUrl}/while/selected`);
      await poll();
      await poll();
      const asked = page.getByText('/while/selected', { exact: true });
      await asked.waitFor();
      expect(await page.evaluate('getSelection().isCollapsed')).toBe(false);
    });

    it('waits for a page that loads longer than the refresh interval', async () => {
      const { page, addresses } = await signedInTo('/requests');
      let asked = 0;
      const waiting: (() => Promise<void>)[] = [];
      await page.route(`${addresses.consoleUrl}/requests`, route => {
        asked++;
        waiting.push(() => route.continue());
      });
      await fetch(`${addresses.baseUrl}/while/it/waits`);
      await page.clock.runFor(2_000);
      await expect.poll(() => asked).toBe(1);
      for (let i = 0; i < 3; i++) await page.clock.runFor(2_000);
      expect(asked).toBe(1);
      await waiting[0]?.();
      await page.getByText('/while/it/waits', { exact: true }).waitFor();
    });

    it('shows the problems of a query while the user types', async () => {
      const { page } = await signedInTo('/explore');
      const query = page.getByRole('textbox', { name: 'Query' });
      const asked = page.waitForRequest(request => request.url().endsWith('&check='));
      await query.fill('tea has:vidoes');
      await page.clock.runFor(250);
      expect((await asked).url()).toContain('query=tea+has%3Avidoes');
      await page.getByText('error[R014]').waitFor();
      expect(await query.inputValue()).toBe('tea has:vidoes');
      await query.fill('tea');
      await page.clock.runFor(250);
      await page.getByText('error[R014]').waitFor({ state: 'detached' });
      await query.fill('tea has:linsk');
      await page.clock.runFor(250);
      await page.getByRole('link', { name: 'Apply' }).click();
      expect(await query.inputValue()).toBe('tea has:links');
      expect(new URL(page.url()).searchParams.has('check')).toBe(false);
    });

    it('copies a command even after its part of the page was replaced', async () => {
      const { page, addresses, poll } = await signedInTo('/requests', {
        permissions: ['clipboard-read', 'clipboard-write'],
      });
      await fetch(`${addresses.baseUrl}/to/be/copied`);
      await poll();
      await page.getByText('/to/be/copied', { exact: true }).waitFor();
      await page.getByText('Details').first().click();
      await page.getByRole('button', { name: 'Copy' }).filter({ visible: true }).last().click();
      await page.getByRole('button', { name: 'Copied' }).waitFor();
      expect(await page.evaluate('navigator.clipboard.readText()')).toBe(
        `curl -u "$MILLRACE_EMAIL:$MILLRACE_PASSWORD" '${addresses.baseUrl}/to/be/copied'`,
      );
    });

    it('does not take the message about an action in another tab away from that tab', async () => {
      const { page, addresses, poll } = await signedInTo('/requests');
      const other = await page.context().newPage();
      await other.goto(`${addresses.consoleUrl}/faults`);
      await other.getByRole('button', { name: 'Stop the clock' }).click();
      await poll();
      await other.reload();
      expect(await other.getByRole('status').textContent()).toBe('The clock has changed.');
      busy.service.clock.reset();
    });
  });

  describe('another site', () => {
    it.each(['localhost', '127.0.0.1'])(
      'cannot send a form from %s to the console for a signed-in user',
      async host => {
        const { addresses, service, visit } = busy;
        const page = await visit({ javaScriptEnabled: true });
        await page.goto(`${addresses.consoleUrl}/sign-in`);
        await signInToConsole(page);
        const before = service.faults.list().length;
        const evil = await site(
          `<form method="post" action="${addresses.consoleUrl}/faults"><input name="action" value="clear"></form><script>document.forms[0].submit()</script>`,
          host,
        );
        await page.goto(evil.address);
        await page.waitForURL(`${addresses.consoleUrl}/**`);
        expect(await page.getByRole('heading', { level: 1 }).textContent()).toMatch(
          /Not done|Sign in/,
        );
        expect(service.faults.list()).toHaveLength(before);
        // The user who was attacked is still signed in.
        await page.goto(addresses.consoleUrl);
        expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Overview');
      },
    );

    it('cannot show the console in a frame', async () => {
      const { addresses, visit } = busy;
      const page = await visit({ javaScriptEnabled: true });
      await page.goto(`${addresses.consoleUrl}/sign-in`);
      await signInToConsole(page);
      const framed = [
        addresses.consoleUrl,
        addresses.statusUrl,
        `${addresses.oauthUrl}/oauth/grants`,
      ];
      const evil = await site(framed.map(address => `<iframe src="${address}"></iframe>`).join(''));
      await page.goto(evil.address);
      for (const frame of page.frames().slice(1))
        expect(
          await frame
            .locator('h1')
            .filter({ hasText: /Overview|Status|Sign/ })
            .count(),
        ).toBe(0);
      expect(page.frames()).toHaveLength(4);
    });

    it('cannot read the console with a script', async () => {
      const { addresses, visit } = busy;
      const page = await visit({ javaScriptEnabled: true });
      const evil = await site('<h1>evil</h1>');
      await page.goto(evil.address);
      const read = await page.evaluate(
        address =>
          fetch(address, { credentials: 'include' }).then(
            a => a.text(),
            () => 'nothing',
          ),
        addresses.statusUrl,
      );
      expect(read).toBe('nothing');
    });
  });
});

/** Elements that only an injection could add. */
const FOREIGN = 'script:not([src^="/pages/script.js?v="]), img, iframe, object';
const REACHABLE = `[...document.querySelectorAll('a[href], button, input, select, textarea, summary')]
  .filter(element => element.checkVisibility({ visibilityProperty: true }) && element.type !== 'hidden')`;
const MARK_FOCUS = `document.activeElement.dataset.focused = getComputedStyle(document.activeElement).outlineStyle`;

const PHONE = { width: 375, height: 740 };
const WIDE = { width: 1280, height: 900 };

interface Site {
  readonly address: string;
  last(): URL;
}

async function site(body: string, host = '127.0.0.1'): Promise<Site> {
  let last = new URL('http://nothing.example/');
  const server = http.createServer((request, response) => {
    if (request.url !== '/favicon.ico') last = new URL(String(request.url), 'http://callback');
    response.setHeader('Content-Type', 'text/html');
    response.end(body);
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  open.push({
    close: async () => {
      server.closeAllConnections();
      server.close();
    },
  });
  const { port } = server.address() as AddressInfo;
  return { address: `http://${host}:${port}/page`, last: () => last };
}

interface Started {
  readonly service: Service;
  readonly addresses: Addresses;
  readonly posts: MemoryArchive['posts'];
  /** Opens a new browser context. By default, it does not run scripts. */
  visit(options?: BrowserContextOptions): Promise<Page>;
}

async function started(options: ServiceOptions = {}): Promise<Started> {
  const posts = hostilePosts(Date.now());
  const service = createService({ archive: new MemoryArchive(posts), ...options });
  open.push({ close: () => service.stop() });
  const addresses = await service.start();
  return {
    service,
    addresses,
    posts,
    async visit(options = {}) {
      const context: BrowserContext = await browser.newContext({
        javaScriptEnabled: false,
        viewport: WIDE,
        ...options,
      });
      context.setDefaultTimeout(60_000);
      open.push(context);
      return context.newPage();
    },
  };
}

async function application(): Promise<
  Started & { readonly acme: Account; readonly callback: Site }
> {
  const there = await started();
  return {
    ...there,
    acme: account(there.addresses),
    callback: await site('<h1>Back in the application</h1>'),
  };
}

async function busyService(): Promise<Started> {
  const there = await started({ jobDwellMs: 0, jobDollarsPerDay: 500, usageCap: 1_000 });
  const { service, addresses } = there;
  const ask = async (path: string, body?: object) => {
    const response = await fetch(addresses.baseUrl + path, {
      headers: { authorization: AUTHORIZATION, 'content-type': 'application/json' },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    });
    await response.text().catch(() => '');
    return response.status;
  };
  const now = Date.now();
  const window = { fromDate: formatTimestamp(now - 2 * HOUR), toDate: formatTimestamp(now - HOUR) };
  for (const title of [HOSTILE, LONG]) {
    const rules = [
      { value: `"${HOSTILE}"`, tag: HOSTILE },
      { value: 'tea', tag: LONG },
    ];
    const job = { publisher: 'twitter', dataFormat: 'original', ...window, title, rules };
    const path = '/historical/powertrack/accounts/local/publishers/twitter/jobs.json';
    expect(await ask(path, job)).toBe(201);
  }
  const replay = `/replay/firehose/accounts/local/publishers/twitter/replay.json?${new URLSearchParams(window)}`;
  await ask(replay);
  service.faults.plant({ kind: 'minutes-failed', minutes: [window.fromDate] });
  await ask(replay);
  service.compliance.inject({ [HOSTILE]: { status: { id_str: LONG } } }, now - MINUTE);
  await ask(`/search/30day/accounts/local/dev.json?query=tea&maxResults=100`);
  await ask(`/search/30day/accounts/local/dev.json?query=${encodeURIComponent(HOSTILE + LONG)}`);
  await ask(`/${LONG}?${HOSTILE}`);
  service.faults.plant({ kind: 'job-failure', during: 'estimating', title: `${HOSTILE}${LONG}` });
  service.faults.plant({ kind: 'delay', ms: 1, endpoint: 'usage', path: LONG, times: 'always' });
  await service.settled();
  return there;
}

async function signIn(page: Page, handle = 'ann'): Promise<void> {
  await page.getByLabel('Handle').fill(handle);
  await page.getByLabel('Password').fill('local-service');
  await page.getByRole('button', { name: 'Sign in' }).click();
}

/** Opens a page through the menu that phones show. */
async function goTo(page: Page, name: string): Promise<void> {
  await page.getByText('Menu').click();
  await page.getByRole('link', { name, exact: true }).click();
}

async function signInToConsole(page: Page): Promise<void> {
  await page.getByLabel('Email').fill('dev@example.com');
  await page.getByLabel('Password').fill('local-service');
  await page.getByRole('button', { name: 'Sign in' }).click();
}

async function expectToFit(page: Page): Promise<void> {
  const [wanted, there] = await page
    .locator('html')
    .evaluate(({ scrollWidth, clientWidth }) => [scrollWidth, clientWidth]);
  expect([page.url(), wanted]).toEqual([page.url(), there]);
}

function namelessFields(page: Page): Promise<string[]> {
  // This is a string, because a function would run in the page, in which nothing of this file is
  // defined.
  return page.evaluate(`[...document.querySelectorAll('input:not([type=hidden]), select, textarea, button')]
    .filter(field => (field.labels?.length ?? 0) === 0 && field.textContent.trim() === '')
    .map(field => field.outerHTML)`);
}
