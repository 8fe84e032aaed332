import { afterEach, beforeEach } from 'vitest';
import type { Batch, Cursor, Flow } from '../../src/flow/flow.js';
import type { Activity } from '../../src/post/activity.js';
import type { SearchOptions } from '../../src/search/search.js';
import { ScriptedServer } from '../http/scripted-server.js';

export const JANUARY = { fromDate: '202401010000', toDate: '202401310000' } as const;

export const SNOW: SearchOptions = {
  query: 'snow',
  product: 'fullarchive',
  maxResults: 10,
  ...JANUARY,
};

export let server: ScriptedServer;

export async function batchesOf(flow: Flow<Activity>, resume?: Cursor): Promise<Batch<Activity>[]> {
  const batches: Batch<Activity>[] = [];
  for await (const batch of flow.batches({ resume })) batches.push(batch);
  return batches;
}

export function bytesOf(batches: readonly Batch<Activity>[]): string[] {
  return batches.flatMap(({ items }) => items.map(post => post.raw.toString()));
}

export function setUpServer(): void {
  beforeEach(async () => {
    server = await new ScriptedServer().start();
  });
  afterEach(() => server.stop());
}
