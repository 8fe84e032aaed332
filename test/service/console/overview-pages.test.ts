import { describe, expect, it } from 'vitest';
import { environmentOf, exportLines } from '../../../src/service/account-variables.js';
import { teaPosts } from '../local-service.js';
import { readable, signedIn } from './browse.js';

describe('the overview page of the console', () => {
  it('shows the clock and the requests of the last hour, except those of the console', async () => {
    const { browser, search, ask, service } = await signedIn(teaPosts(30));
    const start = async () => readable((await browser.get('/console')).text);
    expect(await start()).toMatch(
      /Overview .* Now 2024-05-15 12:34:56 UTC .* Last hour 0 requests .* Start .* export MILLRACE_URL/,
    );
    await search({ query: 'tea', maxResults: 20 });
    await ask('/nothing');
    await ask('/_control/clock').catch(() => {});
    const { text } = await browser.get('/console');
    expect(readable(text)).toMatch(/ 2 requests .* 20 posts sent .* 0 jobs made .* 0 connections /);
    expect(text).toContain('<title>5 to 0 minutes ago: 20</title>');
    expect(text).toContain('aria-label="20 posts sent in the last hour');
    service.clock.advance('2h');
    expect(await start()).toContain(' 0 requests ');
  });

  it('shows the first command, the account and every address', async () => {
    const { browser, baseUrl, service } = await signedIn([], {
      account: `o'brien "x"`,
      label: '<b>&',
    });
    const { text } = await browser.get('/console');
    const seen = readable(text);
    for (const path of [
      `/search/30day/accounts/o'brien%20%22x%22/%3Cb%3E%26.json`,
      `/search/fullarchive/accounts/o'brien%20%22x%22/%3Cb%3E%26/counts.json`,
      `/historical/rulestream/accounts/o'brien%20%22x%22/publishers/twitter/jobs.json`,
      `/replay/firehose/accounts/o'brien%20%22x%22/publishers/twitter/replay.json`,
      `/accounts/o'brien%20%22x%22/publishers/twitter/streams/compliance/compliance.json`,
      `/accounts/o'brien%20%22x%22/usage.json`,
      '/insights/engagement/totals',
    ])
      expect(seen).toContain(baseUrl + path);
    const variables = environmentOf(service.addresses());
    expect(seen).toContain(exportLines(variables).trim().replaceAll('\n', ' '));
    expect(text).not.toContain('<b>&');
  });
});
