import { describe, expect, it } from 'vitest';
import { DAY } from '../../src/base/time.js';
import { firstSearch } from '../../src/service/service-archives.js';
import { browse, readable } from './console/browse.js';
import { local, NOW, SEARCH_PATH, teaPosts } from './local-service.js';

describe('the first search that the local service suggests', () => {
  it.each([
    ['of this month', DAY, '30day'],
    ['of long ago', 400 * DAY, 'fullarchive'],
  ])('finds the newest post in an archive %s', async (_, newest, product) => {
    const { archive, ask } = await local(teaPosts(30, { newest }));
    const search = await firstSearch(archive, NOW);
    expect(search?.product).toBe(product);
    const query = new URLSearchParams(search?.parameters);
    const { page } = await ask(`${SEARCH_PATH.replace('30day', product)}?${query}`);
    expect(page.results).toHaveLength(10);
    expect(page.results[0]?.id_str).toBe('1790000000000000000');
  });

  it('is shown as a command with the password on the overview page', async () => {
    const { service, baseUrl } = await local(teaPosts(1));
    const browser = browse(baseUrl);
    await browser.signIn();
    const command = await service.firstCommand();
    expect(command).toMatch(/^curl -u 'dev@example\.com:local-service' 'http.*query=from%3A/);
    expect(readable((await browser.get('/console')).text)).toContain(command);
  });

  it('is undefined for an empty archive, and the overview page then says what to do', async () => {
    const { service, baseUrl } = await local();
    expect(await service.firstCommand()).toBe(undefined);
    const browser = browse(baseUrl);
    await browser.signIn();
    expect(readable((await browser.get('/console')).text)).toContain('The archive has no posts.');
  });
});
