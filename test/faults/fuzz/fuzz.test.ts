import { describe, expect, it, onTestFinished } from 'vitest';
import { isNightly } from '../../suite.js';
import { PARSERS } from './all-parsers.js';
import { fuzzParser, tryInput } from './fuzz-parser.js';
import type { Parser } from './parser.js';

const SRC = new URL('../../../src/', import.meta.url);
const INPUTS = isNightly ? 1_000 : 30;

/** Inputs on which a parser once failed, as base64. */
const FINDS: Readonly<Record<string, readonly string[]>> = {
  // A repeated header (responses, seed 13).
  responses: ['SFRUUC8xLjEgNDIyIA0KUmV0cnktQWZ0ZXI6DQpSZXRyeS1BZnRlcjoNCg0K'],
  // An empty file (gzip, seed 3).
  gzip: [''],
  // A host that is not an address, and a file's signed address without a time.
  addresses: [
    Buffer.from('/_control/clock\n127.0.0.999\n-\n-').toString('base64'),
    Buffer.from('/console\n127.0.0.999\n-\n-').toString('base64'),
    Buffer.from(
      '/snapshots/t/track_v2/al/l/24/01/01/abc1234567/23/3/31/00/00_activities.json.gz\n[::1]',
    ).toString('base64'),
  ],
  // An invalid time, and a checkpoint with a right checksum but without a flow.
  'kept-files': [
    Buffer.from('2024-01-01T00:01:80.000Z').toString('base64'),
    'ewogICJ2ZXJzaW9uIjogMSwKICAic3RhdGUiOiAibmciLAogICJzaW5rIjogeyJzdGVwIjoiZmlsZXMiLCJwYXRoIjoieCJ9LAogCiAgImN1cnNvciI6IHsibmV4dCI6ImFiYyJ9LAogICJmaWxlcyI6IFsKICAgIHsicGF0aCI6InBvc3RzeiIsInBvc3RjaHl0ZXMiOjkwfQogIF0sCiAgImNoZWNrIjogIjVmOA==',
  ],
  // A negative number of posts in the cursor of a download.
  cursors: [
    'eyJzb3VyY2UiOiJqb2ItZmlsZXMiLCJqb2IiOiJ1dWlkIiwic2VlbiI6IjhkOTRjMTEzZWI5NmYwYzkiLCJuZXh0IjozLCJmaWxlcyI6MywiYnl0ZXMiOjcsInBvc3RzIjotMSwic3VzcGVjdE1pbnV0ZXMiOltdLCJtaXNzaW5nIjpbXX0=',
    // A replay range that ends before it starts.
    'eyJzb3VyY2UiOiJyZXBsYXkiLCJyZXF1ZXN0Ijp7InVybCI6IngifSwib3BlbiI6W3siZnJvbURhdGUiOiIyMDE4MDEwMTAwMDAiLCJ0b0RhdGUiOiIyMDE4MDEwMTAwMTAiLCJtaXNtYXRjaGVzIjowLCJmYWlsdXJlcyI6MSwicGFydGlhbCI6dHJ1ZX1dLCJnYXBzIjpbeyJmcm9tRGF0ZSI6IjIwMTgwMTAxMDExMCIsInRvRGF0ZSI6IjIwMTgwMTAxMDAyMCIsInJlYXNvbiI6ImV4cGlyZWQifV0sImNodW5rTWludXRlcyI6NiwiY29ubmVjdHMiOlsiMjE4Il0sIiI6eyIiOlsiIl0sIiI6W119fQ==',
  ],
  // A signed address in the wrong member of a listing.
  'job-responses': [
    Buffer.from('{"urlCount":["https://a.example/x?Signature=SECRET"]}').toString('base64'),
  ],
  // A long number in the place of a key (exact-json, seed 22).
  'exact-json': ['ezE4NDQwNzM3MDk1NTE2MTY6IiIsIiI6IiJ9'],
  // A download with files that have no sizes, and a download with strings instead of numbers.
  'job-folders': [
    Buffer.from(
      '{"basis":{"job":{"uuid":"abc123","title":"rain","results":{"activityCount":2}},"urlCount":1,"totalBytes":"7","listed":null,"suspectMinutes":[1]},"shard":{"index":1,"of":1},"files":[{"name":{},"path":"a.json.gz","suspectMinutes":[]}],"missing":[]}',
    ).toString('base64'),
  ],
  // A negated group that is never closed. The library reported a position beyond the end of this
  // rule.
  rules: [Buffer.from('-(').toString('base64')],
  // A value that is not JSON, and JSON that is not a tombstone.
  tombstones: ['{"deleted":', '{"deleted":5}', '[]'].map(text =>
    Buffer.from(text).toString('base64'),
  ),
  // Lengths with fractions, and a compression named `constructor`, a property that every object
  // has.
  'stream-messages': [
    Buffer.from('1.5,1.5\n\n\nabcd').toString('base64'),
    Buffer.from('4\nconstructor\n\nabcd').toString('base64'),
  ],
};

it('every stored input of an earlier failure belongs to a parser that is fuzzed', () => {
  expect([...PARSERS.keys()]).toEqual(expect.arrayContaining(Object.keys(FINDS)));
});

describe.each([...PARSERS])('the parser %s', (name, { open }) => {
  const opened = async () => {
    const parser = await open(SRC);
    onTestFinished(() => parser.close?.());
    return parser;
  };

  it('returns a valid result or a typed error for each mutation of a valid input', async () => {
    const fuzzed = await fuzzParser(await opened(), { name, seed: 1, inputs: INPUTS });
    expect(fuzzed.inputs).toBe(INPUTS);
    expect(fuzzed.accepted).toBeGreaterThan(0);
  });

  it.each(FINDS[name] ?? [])(
    'returns a valid result or a typed error for the input of an earlier failure: %s',
    async find => {
      await tryInput(await opened(), Buffer.from(find, 'base64'));
    },
  );
});

describe('a fuzzer', () => {
  const parser = (attempt: Parser['attempt']): Parser => ({
    tokens: ['!'],
    seed: () => Buffer.from('some valid input'),
    attempt,
  });

  it('prints the smallest failing input that it finds', async () => {
    const fails = parser(input => {
      if (input.includes('!')) throw new RangeError('found');
      return true;
    });
    await expect(fuzzParser(fails, { name: 'test', seed: 1, inputs: 10_000 })).rejects.toThrow(
      /\(base64, 1 bytes\)\nIQ==\n.*found/,
    );
  });

  it('tries at least `minInputs` inputs, even if its time is over', async () => {
    const slow = parser(async () => {
      await new Promise(resolve => setTimeout(resolve, 2));
      return true;
    });
    const tried = { name: 'test', seed: 1, forMs: 1 };
    expect((await fuzzParser(slow, { ...tried, minInputs: 20 })).inputs).toBeGreaterThanOrEqual(20);
    expect((await fuzzParser(slow, tried)).inputs).toBeLessThan(20);
  });

  it('tries the same inputs with the same seed', async () => {
    const inputs = async () => {
      const tried: string[] = [];
      const keeps = parser(input => tried.push(input.toString('base64')) > 0);
      await fuzzParser(keeps, { name: 'test', seed: 2, inputs: 100 });
      return tried;
    };
    expect(await inputs()).toEqual(await inputs());
  });
});
