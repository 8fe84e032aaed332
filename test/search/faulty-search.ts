import { inspect } from 'node:util';
import { afterEach, beforeEach, expect } from 'vitest';
import type { Cursor } from '../../src/flow/flow.js';
import type { AccountOptions } from '../../src/http/account.js';
import { type SearchOptions, search } from '../../src/search/search.js';
import { type Reply, ScriptedServer } from '../http/scripted-server.js';
import { januaryPosts, PASSWORD, searchPages, testAccount } from './paged-service.js';
import { JANUARY, SNOW } from './scripted-search.js';

export const ECHO = { requestParameters: { maxResults: 10, ...JANUARY } };

export const PAGE = { results: [{ id_str: '1' }, { id_str: '2' }], ...ECHO };

export const POSTS = januaryPosts(35);

export let server: ScriptedServer;

export async function run(options: Partial<SearchOptions> = {}, settings: AccountOptions = {}) {
  const found: string[] = [];
  let cursor: Cursor | undefined;
  let error: unknown;
  try {
    const flow = search(testAccount(server, settings), { ...SNOW, ...options });
    for await (const batch of flow.batches()) {
      found.push(...batch.items.map(post => post.raw.toString()));
      cursor = batch.cursor;
    }
  } catch (caught) {
    error = caught;
    const shown = inspect(caught, { depth: 12, showHidden: true }) + JSON.stringify(caught);
    for (const spelling of [
      PASSWORD,
      encodeURIComponent(PASSWORD),
      Buffer.from(PASSWORD).toString('base64'),
      Buffer.from(`me@acme.test:${PASSWORD}`).toString('base64'),
    ])
      expect(shown).not.toContain(spelling);
  }
  return { found, cursor, error };
}

export function afterPages(pages: number, ...replies: Reply[]): void {
  for (let i = 0; i < pages; i++) server.script.push(searchPages(POSTS));
  server.script.push(...replies);
}

export function setUpFaultyServer(): void {
  beforeEach(async () => {
    server = await new ScriptedServer().start();
    server.otherwise = searchPages(POSTS);
  });
  afterEach(() => server.stop());
}
