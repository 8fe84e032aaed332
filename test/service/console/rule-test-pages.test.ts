import { describe, expect, it } from 'vitest';
import { NOW } from '../local-service.js';
import { originalPost, streamsPost } from '../memory-archive.js';
import { HOSTILE, readable, signedIn } from './browse.js';

const PAGE = '/console/explore/rules';

async function tester() {
  const { browser, ask, service } = await signedIn();
  await browser.get(PAGE);
  const test = async (post: string, rules: string, product = 'replay') => {
    const { status, text } = await browser.post(PAGE, { post, rules, product });
    return { status, text, seen: readable(text) };
  };
  return { browser, ask, service, test };
}

describe('the console page that tests rules', () => {
  it('shows which rules match a post, and why', async () => {
    const { test, service } = await tester();
    const post = originalPost(NOW, '1790000000000000001', 'green tea');
    const { status, seen } = await test(
      post.activity.raw.toString(),
      'tea -coffee\r\n\ncoffee lang:en\ntea has:vidoes',
    );
    expect(status).toBe(200);
    expect(seen).toContain('1 of 3 rules matches');
    expect(seen).toContain('matches yes tea -coffee > yes tea > yes -coffee');
    expect(seen).toContain('does not match no coffee lang:en > no coffee yes lang:en');
    expect(seen).toContain('not a rule error[R014]: unknown value `vidoes`');
    expect(seen).toContain('"id": 1790000000000000001');
    expect(service.posts.list()).toEqual([]);
  });

  it('accepts a post of the format that the service does not use', async () => {
    const { test } = await tester();
    const post = streamsPost(NOW, '1', 'green tea').activity.raw.toString();
    expect((await test(post, 'tea from:ann')).seen).toContain('1 of 1 rule matches');
  });

  it('accepts only some fields of a post', async () => {
    const { test } = await tester();
    const fields = JSON.stringify({ text: 'Snow in #Oslo', author: 'bob', lang: 'no' });
    expect((await test(fields, '#oslo from:bob lang:no')).seen).toContain('1 of 1 rule matches');
  });

  it('accepts a plain text as the post', async () => {
    const { test } = await tester();
    expect((await test('Snow in #Oslo', '#oslo\nsnow\nrain')).seen).toContain(
      '2 of 3 rules match ',
    );
  });

  it('matches rules as the selected product does', async () => {
    const { test } = await tester();
    expect((await test('cafe', 'café', 'search')).seen).toContain('1 of 1 rule');
    expect((await test('cafe', 'café', 'historical')).seen).toContain('0 of 1 rule');
  });

  it.each(['{"text":5}', '{"created_at":"yesterday"}', '[', '{}', ' '])(
    'explains why the post %s is invalid, and keeps the typed value',
    async post => {
      const { test } = await tester();
      const { status, text } = await test(post, 'tea');
      expect(status).toBe(422);
      expect(text).toMatch(/role="alert" id="problem">(?!posts: )[^<]{10}/);
      expect(text).toMatch(
        /<textarea id="post"[^>]* aria-describedby="post-hint problem" aria-invalid="true"/,
      );
      expect(text).toContain('>tea</textarea>');
    },
  );

  it('accepts 1 MB of JSON, and keeps it in the form if it is not a post', async () => {
    const { test } = await tester();
    const post = originalPost(NOW, '1790000000000000001', 'green tea').activity.raw.toString();
    const large = post.replace('{', `{"padding":${JSON.stringify('"é" &'.repeat(150_000))},`);
    expect(Buffer.byteLength(large)).toBeGreaterThan(1_000_000);
    expect((await test(large, 'tea')).seen).toContain('1 of 1 rule matches');
    const { status, text } = await test(large.slice(0, -1), 'tea');
    expect(status).toBe(422);
    const [, kept = ''] = /<textarea id="post"[^>]*>([^<]*)<\/textarea>/.exec(text) ?? [];
    expect(readable(kept).length).toBe(readable(large.slice(0, -1)).length);
    expect(text).toContain('<nav aria-label="Console">');
  });

  it('accepts a list of one post, and says how many posts are in a longer list', async () => {
    const { test } = await tester();
    expect((await test('[{"text":"tea"}]', 'tea')).seen).toContain('1 of 1 rule matches');
    const { status, seen } = await test('[{"text":"tea"},{"text":"milk"}]', 'tea');
    expect([status, seen]).toEqual([422, expect.stringContaining('and these are 2.')]);
  });

  it.each(['{"text":5}', '[1]', '[]', '{"text":"a","author":5}', '{"txt":"b"}', '{"text":[]}'])(
    'explains what is wrong with the post %s without terms of the library',
    async post => {
      const { test } = await tester();
      const { status, text } = await test(post, 'tea');
      expect(status).toBe(422);
      const [, alert = ''] = /role="alert" id="problem">([^<]*)</.exec(text) ?? [];
      expect(readable(alert)).toMatch(/^[A-Z“].{10,}[.?]$/);
      expect(readable(alert)).not.toMatch(/, got |`|posts|option|Activity/);
    },
  );

  it('suggests at first the rules of the replay stream', async () => {
    const { browser, ask } = await tester();
    const rules = [{ value: 'tea' }, { value: 'coffee lang:en' }];
    const more = Array.from({ length: 30 }, (_, i) => ({ value: `cake${i}` }));
    const path = '/rules/rulestream-replay/accounts/local/publishers/twitter/replay.json';
    await ask(path, { method: 'POST', body: JSON.stringify({ rules }) });
    expect((await browser.get(PAGE)).text).toContain('>tea\ncoffee lang:en</textarea>');
    await ask(path, { method: 'POST', body: JSON.stringify({ rules: more }) });
    expect((await browser.get(PAGE)).text).toMatch(/>tea\n.*\n(cake\d+\n){17}cake17<\/textarea>/);
  });

  it('escapes the typed text, and rejects a form from another site', async () => {
    const { browser, test } = await tester();
    expect((await test(HOSTILE, HOSTILE)).text).not.toMatch(/<script>|<img/);
    const fields = { post: 'tea', rules: 'tea', csrf: '' };
    expect((await browser.post(PAGE, fields)).status).toBe(403);
  });
});
