import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DataError, OptionError } from '../../src/base/errors.js';
import { intoTombstones } from '../../src/compliance/into-tombstones.js';
import { openTombstones, type Tombstones } from '../../src/compliance/tombstones.js';
import { Flow } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { Activity } from '../../src/post/activity.js';
import type { ComplianceEvent } from '../../src/post/compliance-event.js';
import { temporaryFolder } from '../temporary-folder.js';
import { unchecked } from '../unchecked.js';
import { ofPost } from './event.js';

let tombstones: Tombstones;
beforeEach(async () => {
  tombstones = await openTombstones(path.join(await temporaryFolder(), 'tombstones'));
});
afterEach(() => tombstones.close());

function source(opens: unknown[]): Flow<ComplianceEvent> {
  return new Flow(async function* ({ resume }) {
    opens.push(resume);
    const from = Number(resume?.at ?? 0);
    yield { items: [ofPost('delete', String(from + 1))], cursor: { at: from + 1 } };
    yield { items: [ofPost('delete', String(from + 1000))] };
  });
}

describe('intoTombstones', () => {
  it('records events and the cursor of their source, from which the next run continues', async () => {
    const opens: unknown[] = [];
    expect(await pipeline(source(opens), intoTombstones(tombstones))).toEqual({ events: 2 });
    expect(tombstones.cursor('compliance')).toEqual({ at: 1 });
    await pipeline(source(opens), intoTombstones(tombstones));
    expect(opens).toEqual([undefined, { at: 1 }]);
    expect(tombstones.size).toBe(4);
  });

  it('stores one cursor per source name, and none if the name is null', async () => {
    const opens: unknown[] = [];
    await pipeline(source(opens), intoTombstones(tombstones));
    await pipeline(source(opens), intoTombstones(tombstones, { source: 'other' }));
    await pipeline(source(opens), intoTombstones(tombstones, { source: null }));
    expect(opens).toEqual([undefined, undefined, undefined]);
    expect(tombstones.cursor('other')).toEqual({ at: 1 });
    expect(tombstones.size).toBe(2);
  });

  it('throws an OptionError if `source` is not a string', () => {
    expect(() => intoTombstones(tombstones, { source: unchecked(7) })).toThrow(OptionError);
  });

  it('throws an OptionError if its argument is not Tombstones', () => {
    expect(() => intoTombstones(unchecked({}))).toThrow(OptionError);
  });

  it('fails on items that are not compliance events, and records none', async () => {
    const post = new Activity(Buffer.from('{"id":5,"id_str":"5","created_at":"x"}'));
    const posts = new Flow<ComplianceEvent>(async function* () {
      yield { items: [unchecked(post)] };
    });
    await expect(pipeline(posts, intoTombstones(tombstones))).rejects.toThrow(DataError);
    expect(tombstones.size).toBe(0);
  });
});
