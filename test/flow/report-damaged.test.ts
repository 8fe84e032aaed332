import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { constants, createGzip } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DataError, IncompleteError } from '../../src/base/errors.js';
import { floorTo, HOUR, MINUTE } from '../../src/base/time.js';
import { compliance } from '../../src/compliance/compliance.js';
import { pipeline } from '../../src/flow/pipeline.js';
import type { DamagedRecord } from '../../src/json/records.js';
import { activities } from '../../src/operators/activities.js';
import { jsonLines } from '../../src/operators/json-lines.js';
import type { Activity } from '../../src/post/activity.js';
import { type ReplayOptions, replay } from '../../src/replay/replay.js';
import { search } from '../../src/search/search.js';
import { collect } from '../../src/sinks/collect.js';
import { localFiles } from '../../src/sources/local-files.js';
import { begin, COMPLETED, info, stream, windowOf, wirePosts, within } from '../http/live-wire.js';
import { scriptedAccount } from '../http/scripted-account.js';
import { json, type Received, ScriptedServer } from '../http/scripted-server.js';
import { temporaryFolder } from '../temporary-folder.js';

let server: ScriptedServer;
let folder: string;

beforeEach(async () => {
  server = await new ScriptedServer().start();
  folder = await temporaryFolder();
});
afterEach(() => server.stop());

const acme = () => scriptedAccount(server);

const HUGE = `{"id":7,"text":"${'x'.repeat(16 * 1024 * 1024)}"}`;
const DAMAGED = ['{"text":"no id"}', '{"id":1', 'not JSON', HUGE];
const short = (record: DamagedRecord) => record.raw.toString().slice(0, 30);

describe('a damaged record in a replay', () => {
  const to = floorTo(MINUTE, Date.now() - 3 * HOUR);
  const window = { from: to - 40 * MINUTE, to };
  const sent = wirePosts(window);
  const bad = window.from + 20 * MINUTE;

  function posts(options: Partial<ReplayOptions> = {}) {
    return replay(acme(), {
      streamType: 'rulestream',
      fromDate: new Date(window.from),
      toDate: new Date(window.to),
      folder,
      ...(options as object),
    });
  }

  function deliver(damaged: string) {
    server.otherwise = async (response, request: Received) => {
      const asked = windowOf(request);
      const found = within(sent, asked).map(({ json }) => json);
      if (asked.from <= bad && bad < asked.to) found.splice(3, 0, damaged);
      await stream([...found, info(COMPLETED, found.length)])(response, request);
    };
  }

  it.each(DAMAGED.map(record => [record.slice(0, 20), record]))(
    'is skipped if onDamaged returns: %s',
    async (_, record) => {
      deliver(record);
      const told: [string, DataError][] = [];
      const onDamaged = (one: DamagedRecord, error: DataError) =>
        void told.push([short(one), error]);
      const got = await collect<Activity>()(posts({ onDamaged }));
      expect(got.map(({ id }) => id)).toEqual(sent.map(({ id }) => id));
      expect(told).toEqual([[record.slice(0, 30), expect.any(DataError)]]);
      // Streams have no `maxBytes` option, so the message must not mention it.
      expect(told[0]?.[1].message).not.toContain('maxBytes');
    },
  );

  it('ends the replay with an error that contains the missing minutes and a cursor to continue from', async () => {
    deliver(DAMAGED[0] as string);
    const got: string[] = [];
    const committed: string[] = [];
    const error = await (async () => {
      for await (const { items, cursor } of posts().batches()) {
        got.push(...(items as Activity[]).map(({ id }) => id));
        if (cursor !== undefined) committed.push(...got.splice(0));
      }
    })().catch(e => e);
    expect(error).toBeInstanceOf(IncompleteError);
    expect(error.cause).toBeInstanceOf(DataError);
    expect(error.message).toContain('onDamaged');
    expect(committed.length).toBe(32);
    const onDamaged = () => {};
    for await (const { items } of posts({ onDamaged }).batches({ resume: error.cursor }))
      committed.push(...(items as Activity[]).map(({ id }) => id));
    expect(committed).toEqual(sent.map(({ id }) => id));
  });

  it('ends the replay with the error that onDamaged throws', async () => {
    deliver(DAMAGED[1] as string);
    const onDamaged = (_: DamagedRecord, error: DataError) => {
      throw error;
    };
    await expect(collect()(posts({ onDamaged }))).rejects.toBeInstanceOf(DataError);
  });
});

describe('a damaged record in a compliance stream', () => {
  const event = (id: number) => `{"user_delete":{"id":${id},"timestamp_ms":"1432228153548"}}`;

  beforeEach(() => {
    server.otherwise = response => {
      begin(response);
      const gzip = createGzip();
      gzip.pipe(response);
      gzip.write(`${event(1)}\r\nnot JSON\r\n{"user_delete":{"id":}}\r\n${event(2)}\r\n`);
      gzip.flush(constants.Z_SYNC_FLUSH);
    };
  });

  it('is skipped if onDamaged returns', async () => {
    const told: string[] = [];
    const ids: string[] = [];
    const onDamaged = (record: DamagedRecord) => void told.push(short(record));
    for await (const one of compliance(acme(), { backfill: false, onDamaged })) {
      ids.push((one as { userId: string }).userId);
      if (ids.length === 2) break;
    }
    expect(ids).toEqual(['1', '2']);
    expect(told).toEqual(['not JSON', '{"user_delete":{"id":}}']);
  });

  it.each([undefined, 'throws'])(
    'ends the stream without a retry, with a cursor to continue from: %s',
    async how => {
      const onDamaged =
        how &&
        ((_: DamagedRecord, error: DataError) => {
          throw error;
        });
      const flow = compliance(acme(), { backfill: false, ...(onDamaged ? { onDamaged } : {}) });
      const error = await collect()(flow).catch(e => e);
      if (how === undefined) {
        expect(error).toBeInstanceOf(IncompleteError);
        expect(error.cursor).toMatchObject({ source: 'compliance' });
      } else expect(error).toBeInstanceOf(DataError);
      expect(server.received.length).toBe(1);
    },
  );
});

describe('a damaged record in a search', () => {
  const post = (id: number) => ({ id, id_str: String(id), text: 'x' });
  const deliver = () =>
    server.script.push(
      json({ results: [post(1), post(2)], next: 'n' }),
      json({ results: [post(3), { text: 'no id' }, 7, post(4)] }),
    );
  const query = { query: 'snow', product: '30day' } as const;

  it('is skipped if onDamaged returns', async () => {
    deliver();
    const told: string[] = [];
    const onDamaged = (record: DamagedRecord) => void told.push(short(record));
    const got = await collect<Activity>()(search(acme(), { ...query, onDamaged }));
    expect(got.map(({ id }) => id)).toEqual(['1', '2', '3', '4']);
    expect(told).toEqual(['{"text":"no id"}', '7']);
  });

  it('ends the search with an error that contains a cursor to continue from', async () => {
    deliver();
    const error = await collect()(search(acme(), query)).catch(e => e);
    expect(error).toBeInstanceOf(IncompleteError);
    expect(error.cursor).toMatchObject({ next: 'n' });
  });
});

describe('a damaged record in a file', () => {
  it('is skipped if onDamaged returns, whichever stage detects it', async () => {
    const lines = ['{"id":1}', ...DAMAGED, '{"id":2}', '{"id":3', '{"id":4}'];
    await writeFile(path.join(folder, 'a.jsonl'), lines.join('\n'));
    const told: [string, number | undefined][] = [];
    const onDamaged = (record: DamagedRecord) => void told.push([short(record), record.line]);
    const got = await pipeline(
      localFiles(folder),
      jsonLines({ onDamaged }),
      activities({ onDamaged }),
      collect<Activity>(),
    );
    expect(got.map(({ id }) => id)).toEqual(['1', '2', '4']);
    expect(told.map(([raw]) => raw).toSorted()).toEqual(
      [...DAMAGED, '{"id":3'].map(record => record.slice(0, 30)).toSorted(),
    );
    expect(told.filter(([, line]) => line !== undefined).map(([, line]) => line)).toEqual([
      3, 4, 5, 7,
    ]);
  });
});
