import { describe, expect, it } from 'vitest';
import { COMPLIANCE_PATH, END, hourOfPosts, localStreams, START } from '../replay/local-streams.js';
import { browse, HOSTILE, readable } from './browse.js';

describe('the console page of replays', () => {
  it('shows each replay with its last message', async () => {
    const { service, see, replayPath } = await localStreams(hourOfPosts());
    const browser = browse(service.addresses().baseUrl);
    await browser.signIn();
    const page = async () => readable((await browser.get('/console/streams')).text);
    expect(await page()).toContain('No replays yet');
    await see(replayPath());
    expect(await page()).toMatch(/Replay Request Completed 60 \d\d:\d\d:\d\d UTC/);
    service.faults.plant({ kind: 'minutes-failed', minutes: ['202405151005'] });
    await see(replayPath());
    expect(await page()).toMatch(
      /Replay Request Completed with Errors 1 minute failed: 2024-05-15 10:05 UTC/,
    );
    service.faults.plant({ kind: 'unprocessed-range', fromDate: '202405151030' });
    await see(replayPath());
    expect(await page()).toMatch(/Failed to Complete Not processed: 2024-05-15 10:30 to 11:00 UTC/);
    service.faults.plant({ kind: 'content-cut', afterMessages: 3 });
    await see(replayPath('firehose', START, END));
    expect(await page()).toContain('cut off before its last message');
  });

  it('shows the rate of a stream with a decimal when it is not a whole number', async () => {
    const { service, open } = await localStreams();
    const browser = browse(service.addresses().baseUrl);
    await browser.signIn();
    await open(COMPLIANCE_PATH);
    let id = 0;
    await expect
      .poll(async () => {
        service.compliance.inject(`{"user_delete":{"id":${++id},"timestamp_ms":"1"}}`);
        return readable((await browser.get('/console/streams')).text);
      })
      .toMatch(/ A second \d+\.\d Waiting/);
  });

  it('shows a running replay', async () => {
    const { service, open, replayPath } = await localStreams(hourOfPosts(), {
      replayPostsPerSecond: 1,
    });
    const browser = browse(service.addresses().baseUrl);
    await browser.signIn();
    const connection = await open(replayPath());
    await connection.until(text => text.includes('tea number 0'));
    const running = readable((await browser.get('/console/streams')).text);
    expect(running).toContain('streaming');
    expect(running).toMatch(
      /Replay of firehose, 2024-05-15 10:00 to 11:00 UTC Messages 1 A second [\d.]+ Waiting to be read 0 bytes Since \d{4}-\S+ \S+ UTC @ann tea number 0 /,
    );
    connection.destroy();
    await expect
      .poll(async () => readable((await browser.get('/console/streams')).text))
      .toContain('cut off');
  });

  it('shows the events of a compliance connection until it ends', async () => {
    const { service, open } = await localStreams(hourOfPosts());
    const browser = browse(service.addresses().baseUrl);
    await browser.signIn();
    const page = async () => readable((await browser.get('/console/streams')).text);
    expect(await page()).toContain('Nothing is connected.');
    const connection = await open(COMPLIANCE_PATH);
    const hostile = `{"<script>":{"id":1,"timestamp_ms":"1"}}`;
    for (const id of [1, 2, 3])
      service.compliance.inject(`{"user_delete":{"id":${id},"timestamp_ms":"1"}}`);
    service.compliance.inject(hostile);
    await connection.until(text => text.includes('script'));
    const { text } = await browser.get('/console/streams');
    expect(readable(text)).toContain('Compliance stream, all partitions Messages 4 A second');
    expect(readable(text)).toMatch(
      /UTC \{"<script>".*\{"user_delete":\{"id":3,.*\{"user_delete":\{"id":2,/,
    );
    expect(readable(text)).not.toContain('{"user_delete":{"id":1,');
    expect(text).not.toContain('<script>');
    connection.destroy();
    await expect.poll(page).toContain('Nothing is connected.');
  });
});

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

it('the overview page of the console shows how the last replay ended', async () => {
  const { service, see, replayPath } = await localStreams(hourOfPosts());
  const browser = browse(service.addresses().baseUrl);
  await browser.signIn();
  const overview = async () => readable((await browser.get('/console')).text);
  expect(await overview()).toContain('no replay has ended');
  await see(replayPath());
  expect(await overview()).toMatch(/last replay: Replay Request Completed \S/);
  service.faults.plant({ kind: 'minutes-failed', minutes: ['202405151005'] });
  await see(replayPath());
  expect(await overview()).toContain('last replay: Replay Request Completed with Errors');
  service.faults.plant({ kind: 'content-cut', afterMessages: 3 });
  await see(replayPath('firehose', START, END));
  expect(await overview()).toContain('last replay: cut off before its last message');
});

describe('the console page of replay rules', () => {
  it('adds rules that the next replay uses, and deletes them', async () => {
    const { browser, add, see, replayPath } = await signedInToStreams();
    expect(readable((await add(' tea ', ' drinks ')).text)).toContain('The rule is added.');
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
    const asked = await browser.post(PAGE, { action: 'delete', id });
    expect(readable(asked.text)).toContain('Delete a rule?');
    expect(readable((await browser.get(PAGE)).text)).toContain('2 rules');
    await browser.post(PAGE, { action: 'delete', id, confirmed: 'yes' });
    expect(readable((await browser.get(PAGE)).text)).toMatch(/The rule is deleted\. 1 rule, /);
    await browser.post(PAGE, { action: 'delete', id });
    expect(readable((await browser.get(PAGE)).text)).toContain(
      'The stream no longer has this rule.',
    );
  });

  it('shows the problem of an invalid rule below the rule', async () => {
    const { add } = await signedInToStreams();
    const page = await add('tea has:vidoes', 'drinks');
    expect(page.status).toBe(422);
    expect(readable(page.text)).toContain('error[R014]: unknown value `vidoes` for `has:`');
    expect((await add('')).status).toBe(422);
  });

  it('keeps an invalid rule and its tag in the form', async () => {
    const { add } = await signedInToStreams();
    const page = await add('tea has:vidoes', 'drinks');
    expect(page.text).toContain('autofocus>tea has:vidoes</textarea>');
    expect(page.text).toContain('value="drinks"');
  });

  it('adds no invalid rule', async () => {
    const { add, seen } = await signedInToStreams();
    await add('tea has:vidoes', 'drinks');
    await add('');
    expect(await seen()).toContain('The stream has no rules.');
  });

  it('says that a rule already exists', async () => {
    const { add, seen } = await signedInToStreams();
    await add('tea', 'one');
    expect(readable((await add('contains:milk tea')).text)).toContain('The rule is added.');
    expect(readable((await add('tea', 'two')).text)).toContain(
      'A rule with this value already exists',
    );
    expect(await seen()).toMatch(/2 rules, .* tea one /);
  });

  it('changes no rules while a replay uses them', async () => {
    const { browser, add, open, replayPath, seen } = await signedInToStreams(1);
    await add('tea');
    const connection = await open(replayPath('rulestream'));
    expect(readable((await add('coffee')).text)).toContain('There is 1 active connection.');
    const id = String(/name="id" value="(\d+)"/.exec((await browser.get(PAGE)).text)?.[1]);
    await browser.post(PAGE, { action: 'delete', id });
    expect(await seen()).toContain('1 rule,');
    connection.destroy();
  });

  it('rejects a form without its CSRF token', async () => {
    const { browser, seen } = await signedInToStreams();
    const fields = { action: 'add', value: 'tea', tag: '', csrf: '' };
    expect((await browser.post(PAGE, fields)).status).toBe(403);
    expect(await seen()).toContain('The stream has no rules.');
  });
});
