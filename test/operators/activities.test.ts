import { describe, expect, it, vi } from 'vitest';
import { DataError } from '../../src/base/errors.js';
import { Flow } from '../../src/flow/flow.js';
import { Progress } from '../../src/flow/progress.js';
import type { DamagedRecord, JsonRecord } from '../../src/json/records.js';
import { activities } from '../../src/operators/activities.js';
import { dedupe } from '../../src/operators/dedupe.js';
import { routeByTag } from '../../src/operators/route-by-tag.js';
import { all, until } from '../json/cut.js';

const post =
  '{"created_at":"Wed Oct 10 20:19:24 +0000 2018","id_str":"1050118621198921728","text":"{\\"info\\":{}} \\"error\\""}';
const other =
  '{"id":"tag:search.twitter.com,2005:1","objectType":"activity","postedTime":"2018-10-10T20:19:24.000Z","body":"warn"}';
const completed =
  '{"info":{"message":"Replay Request Completed","sent":"2016-05-27T22:15:50+00:00","activity_count":2}}';
const warning = '{"warn":{"message":"Falling behind","sent":"2016-05-27T22:15:50+00:00"}}';

const recordOf = (text: string) => Buffer.from(text) as JsonRecord;

const badTags = new Flow(async function* () {
  const rules = '[{"tag":"untagged","id":1}]';
  yield {
    items: [recordOf(`{"created_at":"x","matching_rules":${rules}}`)],
    origin: 'a.json.gz',
  };
});

describe('activities', () => {
  it('delivers posts without copying their bytes, and passes stream messages to onMessage', async () => {
    const records = [post, warning, other, completed].map(recordOf);
    const source = new Flow(async function* () {
      yield { items: records, cursor: { next: 1 }, origin: 'here' };
    });
    const messages: unknown[] = [];
    const progress = new Progress();
    for await (const batch of activities({ onMessage: message => messages.push(message) })(
      source,
    ).batches({ progress })) {
      expect(batch).toMatchObject({ cursor: { next: 1 }, origin: 'here' });
      expect(batch.items.map(({ id }) => id)).toEqual(['1050118621198921728', '1']);
      expect(batch.items.map(({ raw }) => raw)).toEqual([records[0], records[2]]);
      expect(batch.items[0]?.raw.buffer).toBe(records[0]?.buffer);
    }
    expect(messages).toMatchObject([
      { kind: 'warn', message: 'Falling behind' },
      { kind: 'info', outcome: 'completed', activityCount: 2 },
    ]);
    expect([...progress.dropped]).toEqual([['messages', 2]]);
  });

  it('refuses a record of several lines, even with `onDamaged`', async () => {
    const block = recordOf('{"created_at":"x","id":1}\n{"created_at":"x","id":2}\n{"crea');
    const source = new Flow(async function* () {
      yield { items: [block], origin: 'a.jsonl' };
    });
    for (const options of [{}, { onDamaged: () => {} }]) {
      const { items, error } = await until(activities(options)(source));
      expect(items).toEqual([]);
      expect(error).toMatchObject({
        code: 'ERR_DATA',
        message:
          'activities() reads records of one JSON object, but got bytes (in a.jsonl). Put jsonLines() before it, which cuts bytes into records',
      });
    }
  });

  it.each(['{"id":1', '{"id":1,}', '{"id":01}', '["id"]', '{"id":[1}', '', 'null'])(
    'treats %j, which is not one object, as a damaged record',
    async text => {
      const source = new Flow(async function* () {
        yield { items: [recordOf(post), recordOf(text)], origin: 'a.jsonl' };
      });
      const { items, error } = await until(activities()(source));
      expect(items).toHaveLength(1);
      expect((error as Error).message).toMatch(/^Not one JSON object.*jsonLines\(\)/);
      const onDamaged = vi.fn();
      expect(await all(activities({ onDamaged })(source))).toHaveLength(1);
      expect(onDamaged).toHaveBeenCalledOnce();
    },
  );

  it('delivers all posts before a record that is not JSON, and fails with the name of the file', async () => {
    const source = new Flow(async function* () {
      yield {
        items: [post, '{nonsense}'].map(recordOf),
        origin: '2018/a.json.gz',
      };
    });
    const { items, error } = await until(activities()(source));
    expect(items).toHaveLength(1);
    expect(error).toBeInstanceOf(DataError);
    expect(error).toMatchObject({ position: { origin: '2018/a.json.gz' } });
  });

  it('numbers the damaged records of each file from the start of that file', async () => {
    const source = new Flow(async function* () {
      for (const file of [1, 2]) {
        const origin = `${file}.jsonl`;
        yield { items: [post, '{nonsense}'].map(recordOf), origin };
        yield { items: ['{nonsense}'].map(recordOf), cursor: { file }, origin };
      }
    });
    const places: unknown[] = [];
    const onDamaged = ({ origin, record }: DamagedRecord) => void places.push([origin, record]);
    await all(activities({ onDamaged })(source));
    expect(places).toEqual([
      ['1.jsonl', 2],
      ['1.jsonl', 3],
      ['2.jsonl', 2],
      ['2.jsonl', 3],
    ]);
  });

  it('names the file of a damaged post even if the post is parsed only later', async () => {
    const source = new Flow(async function* () {
      yield { items: [recordOf('{"created_at":"x","text":"no id"}')], origin: 'a.json.gz' };
    });
    for (const flow of [dedupe()(activities()(source)), routeByTag()(activities()(badTags))]) {
      const { error } = await until<unknown>(flow);
      expect(error).toBeInstanceOf(DataError);
      expect(error).toMatchObject({ position: { origin: 'a.json.gz' } });
    }
  });

  it('rejects with the error of `onMessage`', async () => {
    const failure = new Error('no');
    const flow = activities({
      onMessage() {
        throw failure;
      },
    })(
      new Flow(async function* () {
        yield { items: [recordOf(warning)] };
      }),
    );
    expect((await until(flow)).error).toBe(failure);
  });
});
