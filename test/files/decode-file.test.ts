import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeFile, MAX_RECORDS } from '../../src/files/decode-file.js';
import type { FileRecords } from '../../src/files/file-records.js';
import { Flow } from '../../src/flow/flow.js';
import { compressBlockSync } from '../../src/gzip/compression.js';
import { inflateWhole, inflateWholeHere } from '../../src/gzip/inflate-whole.js';
import { nodeZstd } from '../../src/gzip/zstd.js';
import { activities, POSTS } from '../../src/operators/activities.js';
import { IDS } from '../../src/operators/dedupe.js';
import { gunzip } from '../../src/operators/gunzip.js';
import { jsonLines } from '../../src/operators/json-lines.js';
import { TAGS } from '../../src/operators/route-by-tag.js';
import type { Activity } from '../../src/post/activity.js';
import { PATH_KEYS } from '../../src/sinks/write/path-keys.js';
import { bySuite } from '../suite.js';

const LIMITS = { maxBytes: 16 * 1024 * 1024, maxDepth: 3_000 };
const GUNZIP = { plain: 'refuse', maxBytes: Number.POSITIVE_INFINITY } as const;

interface Seen {
  readonly id: string;
  readonly tags: readonly string[];
  readonly day: number;
  readonly raw: string;
}

async function read(
  file: Buffer,
  plain: 'refuse' | 'pass',
  limits: { maxBytes: number; maxDepth: number },
): Promise<Seen[] | undefined> {
  const source = new Flow<Uint8Array>(async function* () {
    yield { items: [file], cursor: { end: 1 } };
  });
  const seen: Seen[] = [];
  try {
    for await (const post of activities()(jsonLines(limits)(gunzip({ plain })(source))))
      seen.push(fieldsOf(post));
    return seen;
  } catch {
    return undefined;
  }
}

function fieldsOf(post: Activity): Seen {
  const day = Math.floor(post.postedAt.getTime() / 86_400_000) * 86_400_000;
  return { id: post.id, tags: [...post.tags], day, raw: post.raw.toString('latin1') };
}

async function decode(
  file: Buffer,
  plain: 'refuse' | 'pass',
  limits = LIMITS,
): Promise<Seen[] | undefined> {
  const decoding = { gunzip: { ...GUNZIP, plain }, limits, records: POSTS };
  const [readIds, readTags, readKeys] = [
    IDS.kind.create(undefined),
    TAGS.kind.create(undefined),
    PATH_KEYS.create(['day']),
  ];
  const read = (rows: FileRecords) => ({
    ids: readIds(rows),
    tags: readTags(rows),
    keys: readKeys(rows),
  });
  const decoded = await decodeFile(file, decoding, [read], inflateWholeHere);
  const inPool = await decodeFile(file, decoding, [read], inflateWhole);
  expect(inPool?.rows.content).toEqual(decoded?.rows.content);
  if (decoded === undefined) return undefined;
  const { rows, columns } = decoded;
  const { ids, tags, keys } = columns[0] as ReturnType<typeof read>;
  return Array.from({ length: rows.count }, (_, row) => ({
    id:
      ids.others?.get(row) ??
      `${(BigInt(ids.halves[2 * row]!) << 32n) | BigInt(ids.halves[2 * row + 1]!)}`,
    tags: tags.tagSets[tags.sets[row]!]!,
    day: Number(keys.sets[keys.indexes[row]!]![0]),
    raw: rows.record(row).toString('latin1'),
  }));
}

const id = fc.oneof(
  fc.bigInt({ min: 0n, max: 2n ** 64n + 5n }).map(String),
  fc.constantFrom(
    '0',
    '1',
    '007',
    '18446744073709551615',
    '18446744073709551616',
    '99999999999999999999999',
  ),
);
const tag = fc.constantFrom(
  'null',
  '"rain"',
  '"quote\\"d"',
  '"\\u00fcber"',
  '"天気 🌧"',
  '7',
  '"rain"',
);
const rules = fc
  .array(fc.tuple(tag, fc.bigInt({ min: 0n, max: 2n ** 64n })), { maxLength: 4 })
  .map(all => `[${all.map(([t, i]) => `{"tag":${t},"id":${i},"id_str":"${i}"}`).join(',')}]`);
const TIME = '"created_at":"Wed Oct 10 20:19:24 +0000 2018"';

const post = fc
  .tuple(id, rules, fc.string({ unit: 'grapheme' }), fc.constantFrom('', '', ' '))
  .map(
    ([i, r, text, s]) =>
      `{${TIME},${s}"id":${s}${BigInt(i)},${s}"id_str":${s}"${i}",${s}"text":${JSON.stringify(text)}${s},${s}"matching_rules"${s}:${s}${r}${s}}`,
  );

const oddLine = fc.oneof(
  fc
    .tuple(id, rules)
    .map(
      ([i, r]) =>
        `{"retweeted_status":{${TIME},"id":1,"id_str":"1","matching_rules":[]},"matching_rules":${r} , "id_str":"${i}",${TIME}}`,
    ),
  fc
    .tuple(id, rules)
    .map(
      ([i, r]) =>
        `{"id":"tag:search.twitter.com,2005:${i}","objectType":"activity","postedTime":"2018-10-10T20:19:24.000Z","gnip":{"matching_rules":${r}}}`,
    ),
  fc.constantFrom(
    '',
    '  ',
    '\t \r',
    '\uFEFF',
    '{"info":{"message":"Replay Request Completed","sent":"2018-10-10T20:19:24+00:00","activity_count":3}}',
    '{"error":{"message":"x"}}',
    '{}',
    '{"text":"no id"}',
    `{${TIME},"id":5,"id_str":"5","matching_rules":7}`,
    `{${TIME},"id":5,"id_str":"5","matching_rules":[{"tag":"a","id":1}`,
    `{${TIME},"id":5,"id_str":"5","text":"\\"matching_rules\\":[{}]"}`,
    `  {${TIME},"id":12,"id_str":"12"}  `,
    `{${TIME},"id":"x","id_str":"x y"}`,
    `{"created_at":"not a time","id":5,"id_str":"5"}`,
    '[1]',
    'cut short {',
    `{${TIME},"id":5,"id_str":"5","deep":${'['.repeat(40)}${']'.repeat(40)}}`,
    '\u001f\u008b',
  ),
);
/**
 * What follows each record. It may be an empty string or a space, so that records can share a line.
 */
const ends = fc.constantFrom('\n', '\n', '\r\n', '\n\n', ' \n', '', ' ');

const text = fc
  .tuple(
    fc.array(fc.tuple(fc.oneof({ weight: 6, arbitrary: post }, oddLine), ends), { maxLength: 12 }),
    fc.constantFrom('', '', '', '\uFEFF', '\n'),
    fc.constantFrom('', '', `{${TIME},"id":9,"id_str":"9"}`, `{${TIME},"id":9`),
  )
  .map(([lines, start, last]) => `${start}${lines.flat().join('')}${last}`);

const zstd = (content: Buffer) => Buffer.from(compressBlockSync(content, { kind: 'zstd' }));

const stored = fc
  .tuple(text, fc.nat(nodeZstd ? 14 : 12), fc.nat(), fc.nat(2_000))
  .map(([content, way, at, cut]) => {
    const bytes = Buffer.from(content);
    const gz = gzipSync(bytes);
    const middle = at % (bytes.length + 1);
    switch (way) {
      case 0:
        return Buffer.concat([
          gzipSync(bytes.subarray(0, middle)),
          gzipSync(bytes.subarray(middle)),
        ]);
      case 1:
        return Buffer.concat([gz, Buffer.alloc(1 + (cut % 20))]);
      case 2:
        return Buffer.concat([gz, Buffer.from('junk')]);
      case 3:
        return gz.subarray(0, cut % gz.length);
      case 4: {
        const flipped = Buffer.from(gz);
        flipped[at % gz.length]! ^= 1 << (cut % 8);
        return flipped;
      }
      case 5:
        return bytes;
      case 13:
        return Buffer.concat([zstd(bytes.subarray(0, middle)), zstd(bytes.subarray(middle))]);
      case 14:
        return zstd(bytes).subarray(0, cut);
      default:
        return gz;
    }
  });

describe('decodeFile', () => {
  it('finds the same posts as the stages of the pipeline, or returns undefined for a file that only the stages can read', async () => {
    let decoded = 0;
    await fc.assert(
      fc.asyncProperty(
        stored,
        fc.constantFrom('refuse' as const, 'pass' as const),
        fc.constantFrom(LIMITS, { maxBytes: 300, maxDepth: 20 }),
        async (file, plain, limits) => {
          const found = await decode(file, plain, limits);
          if (found === undefined) return;
          decoded++;
          expect(found).toEqual(await read(file, plain, limits));
        },
      ),
      { numRuns: bySuite(250, 20_000) },
    );
    // Without this, the test would pass if the engine refused all files.
    expect(decoded).toBeGreaterThan(bySuite(25, 100));
  });

  it('decodes a file of valid posts with any line ends', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(post, ends)), async lines => {
        const file = gzipSync(lines.flat().join(''));
        const found = await decode(file, 'refuse');
        expect(found).toEqual(await read(file, 'refuse', LIMITS));
        expect(found?.length).toBe(lines.length);
      }),
    );
  });
});

it('decodeFile leaves a file of 300,000 tiny records to the pipeline stages, which read it in small batches', async () => {
  const decoded = (records: number) =>
    decodeFile(
      gzipSync('{"id":1,"id_str":"1"}\n'.repeat(records)),
      { gunzip: GUNZIP, limits: LIMITS, records: POSTS },
      [],
      inflateWholeHere,
    );
  expect((await decoded(100_000))?.rows.count).toBe(100_000);
  expect(await decoded(300_000)).toBeUndefined();
});

it('decodeFile leaves a file with bytes after its gzip data to the pipeline stages', async () => {
  const file = gzipSync('{"id":1,"id_str":"1"}\n');
  const decoded = (bytes: Buffer) =>
    decodeFile(bytes, { gunzip: GUNZIP, limits: LIMITS, records: POSTS }, [], inflateWholeHere);
  expect((await decoded(file))?.rows.count).toBe(1);
  expect(await decoded(Buffer.concat([file, Buffer.alloc(8)]))).toBeUndefined();
});

it('decodeFile leaves a file with more records and messages than the limit to the pipeline stages', async () => {
  const line = `{${TIME},"id":7,"id_str":"7"}\n`;
  const messages = '{"info":{}}\n'.repeat(MAX_RECORDS - 1);
  const decoding = { gunzip: undefined, limits: LIMITS, records: POSTS };
  const decoded = (text: string) => decodeFile(Buffer.from(text), decoding, [], inflateWholeHere);
  expect((await decoded(messages + line))?.rows.count).toBe(1);
  expect(await decoded(messages + line + line)).toBeUndefined();
});
