import { describe, expect, it } from 'vitest';
import { hourOfPosts, localStreams } from '../replay/local-streams.js';
import { browse, HOSTILE, readable } from './browse.js';

const PAGE = '/console/streams/rules';

async function signedInToStreams(replayPostsPerSecond = Number.POSITIVE_INFINITY) {
  const streams = await localStreams(hourOfPosts(), { replayPostsPerSecond });
  const browser = browse(streams.service.addresses().baseUrl);
  await browser.signIn();
  await browser.get(PAGE);
  const add = async (value: string, tag = '') => {
    const page = await browser.post(PAGE, { action: 'add', value, tag });
    return page.location === null ? page : browser.get(PAGE);
  };
  const seen = async () => readable((await browser.get(PAGE)).text);
  return { ...streams, browser, add, seen };
}

describe('the page of the rules of the stream', () => {
  it('adds rules with and without a tag, which replays then use, and deletes them', async () => {
    const { browser, add, see, replayPath } = await signedInToStreams();
    expect(readable((await add(' tea ', 'drinks')).text)).toContain('The rule is added.');
    await add(`"${HOSTILE.replaceAll('"', '')}"`, HOSTILE);
    const { text } = await browser.get(PAGE);
    expect(readable(text)).toMatch(/2 rules, newest first .* tea drinks \d{18,} Delete/);
    expect(text).not.toMatch(/<script>|<img/);
    expect(readable((await browser.get('/console/streams')).text)).toContain(
      'The stream has 2 rules',
    );
    const { messages } = await see(replayPath('rulestream'));
    expect(messages[0]).toContain('"tag":"drinks"');
    const id = String(/name="id" value="(\d+)"/.exec(text)?.[1]);
    await browser.post(PAGE, { action: 'delete', id });
    expect(readable((await browser.get(PAGE)).text)).toMatch(/The rule is deleted\. 1 rule, /);
    await browser.post(PAGE, { action: 'delete', id });
    expect(readable((await browser.get(PAGE)).text)).toContain(
      'The stream no longer has this rule.',
    );
  });

  it('shows what is wrong with a rule under it, keeps it, and adds nothing', async () => {
    const { add, seen } = await signedInToStreams();
    const page = await add('tea has:vidoes', 'drinks');
    expect(page.status).toBe(422);
    expect(readable(page.text)).toContain('error[R014]: unknown value `vidoes` for `has:`');
    expect(page.text).toContain('autofocus>tea has:vidoes</textarea>');
    expect(page.text).toContain('value="drinks"');
    expect((await add('')).status).toBe(422);
    expect(await seen()).toContain('The stream has no rules.');
  });

  it('says that a rule exists', async () => {
    const { add, seen } = await signedInToStreams();
    await add('tea', 'one');
    expect(readable((await add('contains:milk tea')).text)).toContain('The rule is added.');
    expect(readable((await add('tea', 'two')).text)).toContain(
      'A rule with this value already exists',
    );
    expect(await seen()).toMatch(/2 rules, .* tea one /);
  });

  it('changes nothing while a replay uses the rules', async () => {
    const { browser, add, open, replayPath, seen } = await signedInToStreams(1);
    await add('tea');
    const connection = await open(replayPath('rulestream'));
    expect(readable((await add('coffee')).text)).toContain('There is 1 active connection.');
    const id = String(/name="id" value="(\d+)"/.exec((await browser.get(PAGE)).text)?.[1]);
    await browser.post(PAGE, { action: 'delete', id });
    expect(await seen()).toContain('1 rule,');
    connection.destroy();
  });

  it('refuses a form without its token', async () => {
    const { browser, seen } = await signedInToStreams();
    const fields = { action: 'add', value: 'tea', tag: '', csrf: '' };
    expect((await browser.post(PAGE, fields)).status).toBe(403);
    expect(await seen()).toContain('The stream has no rules.');
  });
});
