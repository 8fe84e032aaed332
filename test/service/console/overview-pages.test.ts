import { describe, expect, it } from 'vitest';
import { environmentOf, exportLines } from '../../../src/service/environment.js';
import { readable, signedIn } from './browse.js';

describe('the overview', () => {
  it('says what to paste, as the banner does, then the account and every address', async () => {
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
