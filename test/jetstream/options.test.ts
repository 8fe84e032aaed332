import type { NatsConnection } from '@nats-io/transport-node';
import { OptionError, type Sink } from 'millrace';
import { fromJetStream, toJetStream } from 'millrace/jetstream';
import { describe, expect, it } from 'vitest';
import { unchecked } from '../unchecked.js';

// The options must be checked before the library calls this function.
const connection = () => Promise.reject(new Error('connected'));
const needed = { connection, stream: 'posts', subject: 'posts' };

type Wrong = Readonly<Record<string, readonly unknown[]>>;

const CONNECTION: Wrong = {
  connection: [undefined, 'nats://a', 7, {}, [], null, { request: () => {}, close: () => {} }],
  domain: [7, '', 'a.b', 'a b'],
  apiPrefix: [7, '', 'JS.', 'JS.>', 'a b'],
  maxOutageMs: ['1', -1, Number.NaN, Number.POSITIVE_INFINITY],
};
const NAMES: Wrong = {
  stream: [undefined, 7, '', 'a.b', 'a b', 'x'.repeat(65)],
  subject: [undefined, 7, '', 'posts.', '.posts', 'posts.*', 'posts.>', 'a b'],
};

const TO: Wrong = {
  ...CONNECTION,
  ...NAMES,
  name: [7, '', 'a.b', 'é'],
  bucket: [7, '', 'a/b'],
  create: [true, 'yes', []],
  'create.maxBytes': [undefined, '1', 0, 1e5, 2 ** 20 + 0.5],
  'create.maxAgeMs': ['1', 0, 999],
  'create.replicas': ['3', 0, 2, 4],
  'create.shards': ['8', 0, 257, 1.5],
  'create.duplicateWindowMs': ['1', 0, -1],
  'create.discard': ['none', true],
  maxInFlight: ['1', 0, 10_001, 1.5],
  commitIntervalMs: ['1', -1, Number.NaN],
  takeoverMs: ['1', 0, 1999],
  batch: [true, 100, []],
  'batch.posts': ['1', 0, 10_001],
  'batch.maxBytes': ['1', 0, 0.5],
  'batch.waitMs': ['1', -1],
  'batch.compression': ['brotli', true],
  id: ['id', 7],
  payload: ['payload', {}],
};

const FROM: Wrong = {
  ...CONNECTION,
  ...NAMES,
  shard: ['1/2', 1, {}, { index: 0, of: 2 }, { index: 3, of: 2 }, { index: 1, of: 2, from: 3 }],
  until: ['end', 0, -1, 1.5, true],
  subjects: [7, '', [], 'posts.', '.posts', 'a b', 'posts.>.en', 'posts.a*', '>.a', ['a', 7]],
  waitForStream: ['yes', 7],
  onGap: ['ignore', true],
  item: ['json', {}],
  resume: ['cursor', 7, []],
};

/**
 * Returns options with one wrong value. The name `create.maxBytes` means the member `maxBytes` of
 * `create`.
 */
function wrongOptions(option: string, value: unknown): object {
  const [group = '', member] = option.split('.');
  if (member === undefined) return { ...needed, [group]: value };
  const others = group === 'create' ? { maxBytes: 2 ** 20 } : {};
  return { ...needed, [group]: { ...others, [member]: value } };
}

function refusals(call: (options: never) => unknown, options: Wrong): void {
  const rows = Object.entries(options).flatMap(([option, values]) =>
    values.map(value => [option, value] as const),
  );
  it.each(rows)('the option `%s` with the value %j', (option, value) => {
    let error: unknown;
    try {
      call(unchecked(wrongOptions(option, value)));
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(OptionError);
    expect((error as OptionError).option?.split('.')[0]).toBe(option.split('.')[0]);
  });

  it.each(['servers', 'token', ...('create' in options ? ['create.size', 'batch.size'] : [])])(
    'the unknown option `%s`',
    option => {
      expect(() => call(unchecked(wrongOptions(option, 1)))).toThrow(OptionError);
    },
  );
}

describe('toJetStream throws an OptionError for', () => {
  refusals(options => toJetStream(options) satisfies Sink<unknown, unknown>, TO);

  it('a duplicate window that is longer than the age limit of messages', () => {
    const create = { maxBytes: 2 ** 20, maxAgeMs: 1000, duplicateWindowMs: 2000 };
    expect(() => toJetStream({ ...needed, create })).toThrow('create.duplicateWindowMs');
  });
});

describe('fromJetStream throws an OptionError for', () => {
  refusals(options => fromJetStream(options), FROM);

  it('a promise of a connection that was not awaited', () => {
    const promise = unchecked<NatsConnection>(Promise.resolve());
    expect(() => fromJetStream({ ...needed, connection: promise })).toThrow(
      'what `await connect()` of @nats-io/transport-node returns',
    );
  });

  it('an address passed as the connection, without showing its password', () => {
    const address = unchecked<NatsConnection>('nats://me:s3cret@a');
    const call = () => fromJetStream({ ...needed, connection: address });
    expect(call).toThrow('`connection`');
    expect(call).not.toThrow('s3cret');
  });

  it('an API prefix and a domain together', () => {
    const both = { domain: 'hub', apiPrefix: 'JS.hub.API' };
    expect(() => fromJetStream({ ...needed, ...both })).toThrow('apiPrefix');
  });
});
