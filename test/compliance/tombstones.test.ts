import type { ChildProcess } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DataError, OptionError, StorageError } from '../../src/base/errors.js';
import {
  changesOf,
  decodeTombstone,
  encodeTombstone,
  openTombstones,
  type PostTombstone,
  type Tombstones,
} from '../../src/compliance/tombstones.js';
import { Activity } from '../../src/post/activity.js';
import type { ComplianceEvent } from '../../src/post/compliance-event.js';
import { fork } from '../child-processes.js';
import { compiled } from '../compiled.js';
import { temporaryFolder } from '../temporary-folder.js';
import { unchecked } from '../unchecked.js';
import { edit, ofPost, ofUser, scrubGeo } from './event.js';

async function opened() {
  return openTombstones(path.join(await temporaryFolder(), 'tombstones'));
}

it('tombstones keep the recorded events after `await using` closes them', async () => {
  const folder = path.join(await temporaryFolder(), 'tombstones');
  let outside: Tombstones;
  {
    await using tombstones = await openTombstones(folder);
    await tombstones.record([ofPost('delete', '7', 1)]);
    outside = tombstones;
  }
  expect(() => outside.post('7')).toThrow(StorageError);
  await using again = await openTombstones(folder);
  expect(again.post('7')).toBeDefined();
});

describe('tombstone marks', () => {
  const anyEvent = fc
    .record({
      kind: fc.constantFrom(
        ...['delete', 'drop', 'undrop', 'user_delete', 'user_undelete', 'user_protect'],
        ...['user_unprotect', 'user_suspend', 'user_unsuspend', 'status_withheld'],
        ...['user_withheld', 'scrub_geo', 'tweet_edit'],
      ),
      id: fc.constantFrom('9007199254740993', '9007199254740994', '7'),
      at: fc.integer({ min: 1, max: 4 }),
      countries: fc.subarray(['DE', 'FR', 'XX']),
    })
    .map(({ kind, id, at, countries }): ComplianceEvent => {
      if (kind === 'scrub_geo') return scrubGeo(id, String(at));
      if (kind === 'tweet_edit') return edit([id, '9007199254740995']);
      const more = kind.endsWith('withheld') ? { withheld_in_countries: countries } : {};
      return kind.startsWith('user_') ? ofUser(kind, id, at, more) : ofPost(kind, id, at, more);
    });

  const outcome = (events: readonly ComplianceEvent[]) => {
    const marks = new Map<string, string>();
    for (const { of, id, change } of events.flatMap(changesOf)) {
      const key = `${of} ${id}`;
      const before = marks.get(key);
      const mark = change(before === undefined ? {} : decodeTombstone(Buffer.from(before)));
      marks.set(key, encodeTombstone(mark).toString());
    }
    return [...marks].toSorted();
  };

  it('are the same for any order and repetition of the same events', () => {
    fc.assert(
      fc.property(
        fc.array(anyEvent, { maxLength: 12 }).chain(events =>
          fc.tuple(
            fc.constant(events),
            fc.shuffledSubarray([...events, ...events], {
              minLength: 2 * events.length,
              maxLength: 2 * events.length,
            }),
          ),
        ),
        ([events, again]) => {
          expect(outcome(again)).toEqual(outcome(events));
        },
      ),
    );
  });

  it('keep the event that hides more if several events have the same time', () => {
    const withheld = (...countries: string[]) =>
      ofPost('status_withheld', '7', 4, { withheld_in_countries: countries });
    const events = [
      ...[ofPost('drop', '7', 4), ofPost('undrop', '7', 4)],
      ...[withheld('DE'), withheld(), withheld('DE', 'FR'), withheld('AT')],
      ...[ofUser('user_suspend', '8', 4), ofUser('user_unsuspend', '8', 4)],
    ];
    const marks = [
      ['post 7', '{"dropped":[4,true],"withheld":[4,["AT","DE","FR"]]}'],
      ['user 8', '{"suspended":[4,true]}'],
    ];
    expect(outcome(events)).toEqual(marks);
    expect(outcome(events.toReversed())).toEqual(marks);
  });

  it('exist for all versions of an edited post except the newest, comparing ids as integers', () => {
    const edited = (ids: readonly string[]) => changesOf(edit(ids)).map(({ id }) => id);
    expect(edited(['9', '10'])).toEqual(['9']);
    expect(edited(['999', '1000', '9007199254740992', '9007199254740993'])).toEqual([
      ...['999', '1000', '9007199254740992'],
    ]);
  });

  it('keep the larger id of two scrub_geo events, comparing ids as integers', () => {
    for (const ids of [
      ['9', '10'],
      ['10', '9'],
    ])
      expect(outcome(ids.map(id => scrubGeo('1', id)))).toEqual([
        ['user 1', '{"scrubbedUpTo":"10"}'],
      ]);
  });

  it('are one byte long for a deleted post', () => {
    const mark: PostTombstone = { deleted: true };
    expect(encodeTombstone(mark).length).toBe(1);
    expect(decodeTombstone(encodeTombstone(mark))).toEqual(mark);
    const more: PostTombstone = { ...mark, withheld: [5, ['DE']] };
    expect(decodeTombstone(encodeTombstone(more))).toEqual(more);
  });
});

describe('tombstones', () => {
  it('keep ids exact when they are closed and reopened', async () => {
    const first = await opened();
    await first.record([
      ofPost('delete', '9007199254740993'),
      ofUser('user_suspend', '18446744073709551615', 5),
      ofPost('status_withheld', '12', 7, { withheld_in_countries: ['de', 'FR'] }),
      scrubGeo('12', '100'),
    ]);
    await first.close();
    const again = await openTombstones(first.folder);
    expect(again.post('9007199254740993')).toEqual({ deleted: true });
    expect(again.post('9007199254740992')).toBeUndefined();
    expect(again.user('18446744073709551615')).toEqual({ suspended: [5, true] });
    expect(again.post('12')).toEqual({ withheld: [7, ['DE', 'FR']] });
    expect(again.user('12')).toEqual({ scrubbedUpTo: '100' });
    expect(again.size).toBe(4);
    expect(again.post('no id')).toBeUndefined();
    expect(again.post('99999999999999999999')).toBeUndefined();
    expect(again.post('18446744073709551616')).toBeUndefined();
    await again.close();
  });

  it('can be read by another process while this process records events', async () => {
    const tombstones = await opened();
    await tombstones.record([ofPost('delete', '1')]);
    const reader = child('reader', tombstones.folder);
    await said(reader, 'ready');
    await tombstones.record([ofPost('delete', '2')]);
    reader.send('look');
    expect(await said(reader, 'saw')).toEqual([true, true, false]);
    reader.kill('SIGKILL');
    await tombstones.record([ofPost('delete', '3')]);
    expect(tombstones.post('3')).toEqual({ deleted: true });
    await tombstones.close();
  });

  it('lose no recorded event when the recording process is killed', async () => {
    for (const patience of [20, 60, 120]) {
      const folder = path.join(await temporaryFolder(), 'tombstones');
      const writer = child('writer', folder);
      let told = 0;
      writer.on('message', (message: { recorded?: number }) => {
        told = Math.max(told, message.recorded ?? 0);
      });
      await said(writer, 'ready');
      await new Promise(resolve => setTimeout(resolve, patience));
      writer.kill('SIGKILL');
      await new Promise(resolve => writer.once('exit', resolve));
      const left = await openTombstones(folder);
      const { upTo = 0 } = (left.cursor('numbers') ?? {}) as { upTo?: number };
      expect(upTo).toBeGreaterThanOrEqual(told);
      expect(left.size).toBe(upTo);
      for (let id = 1; id <= upTo; id += 97)
        expect(left.post(String(id))).toEqual({ deleted: true });
      await left.close();
    }
  });

  it('reject a damaged file without crashing the process', async () => {
    const tombstones = await opened();
    const { folder } = tombstones;
    await tombstones.record(Array.from({ length: 2_000 }, (_, n) => ofPost('delete', String(n))));
    await tombstones.close();
    const file = path.join(folder, 'data.mdb');
    const whole = await readFile(file);
    const foreign = Buffer.from('garbage'.repeat(2_000));
    const overwritten = Buffer.from(whole).fill(0xff, 100, 8_000);
    const halves = [100, 3_000, 5_000, whole.length >> 1, whole.length - 1];
    for (const bytes of [foreign, overwritten, ...halves.map(at => whole.subarray(0, at))]) {
      await writeFile(file, bytes);
      for (const readOnly of [false, true])
        await expect(openTombstones(folder, { readOnly })).rejects.toThrow(StorageError);
    }
    await writeFile(file, whole);
    const again = await openTombstones(folder);
    expect(again.size).toBe(2_000);
    await again.close();
  });

  it('reject every use after close, and every write when opened read-only', async () => {
    const tombstones = await opened();
    await tombstones.record([ofPost('delete', '5')]);
    const reader = await openTombstones(tombstones.folder, { readOnly: true });
    expect(reader.post('5')).toEqual({ deleted: true });
    await expect(reader.record([ofPost('delete', '6')])).rejects.toThrow(
      'were opened with `readOnly`. To record, open them without it',
    );
    await reader.close();
    await tombstones.close();
    expect(() => tombstones.post('5')).toThrow(StorageError);
    await expect(tombstones.record([ofPost('delete', '6')])).rejects.toThrow(StorageError);
  });

  it('reject items that are not compliance events', async () => {
    const tombstones = await opened();
    const post = new Activity(Buffer.from('{"id":5,"id_str":"5","created_at":"x"}'));
    for (const events of [[null], [post], 'events', [{}]])
      await expect(tombstones.record(unchecked(events))).rejects.toThrow(DataError);
    expect(tombstones.size).toBe(0);
    await tombstones.close();
  });

  it('cause a typed error if they cannot be opened', async () => {
    await expect(openTombstones('')).rejects.toThrow(OptionError);
    const folder = await temporaryFolder();
    await expect(openTombstones(path.join(folder, 'none'), { readOnly: true })).rejects.toThrow(
      StorageError,
    );
    await expect(openTombstones('/dev/null/tombstones')).rejects.toThrow(StorageError);
  });
});

function child(role: 'reader' | 'writer', folder: string): ChildProcess {
  return fork(compiled(path.join(import.meta.dirname, 'tombstones-child.ts')), [role, folder], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
}

function said(from: ChildProcess, key: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    from.once('exit', code => reject(new Error(`The child ended with ${code}`)));
    from.on('message', (message: Record<string, unknown>) => {
      if (key in message) resolve(message[key]);
    });
  });
}
