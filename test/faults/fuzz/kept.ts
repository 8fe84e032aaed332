import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { loadModule } from '../disks/load-module.js';
import { check, expectSame, isRecord, outcomes, type ParserKind, parsedJson } from './parser.js';

const TOKENS = [
  ...[
    '"next":',
    '"skip":',
    '"slice":',
    '"items":',
    '-1',
    '1e99',
    'null',
    '{}',
    '[]',
    '"source":"search"',
  ],
  ...[
    '"window":{',
    '"fromDate":"',
    '"__proto__":',
    '"inner":',
    '"seen":',
    '"ids":',
    ',',
    '"done":true',
  ],
];

/** Cursors, as a checkpoint or a caller has kept them. */
export const cursors: ParserKind = {
  holds: 'a position that the request can have, or an `OptionError`',
  async open(library) {
    const { cursorOf, positionOf } = await loadModule<
      typeof import('../../../src/search/query-cursor.js')
    >(library, 'search/query-cursor');
    const { parseReplayCursor } = await loadModule<
      typeof import('../../../src/replay/replay-cursor.js')
    >(library, 'replay/replay-cursor');
    const { SeenIds } = await loadModule<typeof import('../../../src/replay/seen-ids.js')>(
      library,
      'replay/seen-ids',
    );
    const { DownloadCursors } = await loadModule<
      typeof import('../../../src/jobs/job-files-cursor.js')
    >(library, 'jobs/job-files-cursor');
    const { unwrapCursor } = await loadModule<typeof import('../../../src/flow/wrapped-cursor.js')>(
      library,
      'flow/wrapped-cursor',
    );
    const errors = await outcomes(library);
    const query = { source: 'search', identity: { query: 'rain', slices: 4 } } as never;
    const files = Array.from({ length: 5 }, (_, index) => ({ name: `2018010600${index}0` }));
    const downloads = new DownloadCursors({
      job: { uuid: 'uuid', title: 'rain' },
      files,
      share: undefined,
    } as never);
    const delivered = { bytes: 7, posts: 2, suspectMinutes: [], missing: [] };
    const seeds: readonly unknown[] = [
      cursorOf(query, {
        ...{ slice: 2, next: 'abc', skip: 3, items: 503, pages: 1, done: false },
        window: { fromDate: '201801010000', toDate: '201802010000' } as never,
      }),
      downloads.cursorAt({ next: 3, files: 3, ...delivered } as never),
      {
        source: 'replay',
        request: { url: 'x' },
        open: [
          {
            ...{ fromDate: '201801010000', toDate: '201801010010' },
            ...{ mismatches: 0, failures: 1, partial: true },
          },
        ],
        gaps: [{ fromDate: '201801010010', toDate: '201801010020', reason: 'expired' }],
        chunkMinutes: 16,
        connects: ['2018-01-06T20:00:00.000Z'],
        ids: { '201801010000': ['1,2'], none: [] },
      },
      { dedupe: ['1'], inner: { source: 'search' } },
    ];
    return {
      tokens: TOKENS,
      seed: random => Buffer.from(JSON.stringify(random.pick(seeds))),
      attempt(input) {
        const parsed = parsedJson(input);
        // A caller's cursor is an object: options are checked before.
        if (parsed === undefined || !isRecord(parsed.value)) return false;
        const cursor = parsed.value as never;
        const { value: position } = errors.of(() => positionOf(query, cursor));
        if (position !== undefined) {
          const { slice, skip, items, pages } = position;
          for (const count of [slice, skip, items, pages])
            check(Number.isSafeInteger(count) && count >= 0, `A count of ${count}`);
          check(slice < 4, `Slice ${slice} of 4`);
        }
        const { value: state } = errors.of(() => downloads.stateAt(cursor));
        if (state !== undefined) {
          const { next, files: count, bytes, posts } = state;
          check(
            next >= 0 && next <= files.length,
            `It goes on with file ${next} of ${files.length}`,
          );
          for (const one of [next, count, bytes, posts])
            check(Number.isSafeInteger(one) && one >= 0, `A count of ${one}`);
          for (const name of [...state.suspectMinutes, ...state.missing])
            check(typeof name === 'string', `A name that is ${JSON.stringify(name)}`);
        }
        const { value: replay } = errors.of(() => parseReplayCursor({ url: 'x' }, cursor));
        if (replay !== undefined) {
          for (const { from, to } of [...replay.state.open, ...replay.state.gaps])
            check(from < to, `A range from ${from} to ${to}`);
          check(replay.state.chunk > 0, `Chunks of ${replay.state.chunk} ms`);
          errors.of(() => new SeenIds().restore(replay.ids));
        }
        const { value: wrapped } = errors.of(() => unwrapCursor('dedupe', cursor));
        return [position, state, replay, wrapped].some(one => one !== undefined);
      },
    };
  },
};

/** Files that the library keeps and reads again: a checkpoint, tokens, times of connections. */
export const keptFiles: ParserKind = {
  holds: 'only what was written is accepted',
  async open(library) {
    const { readCheckpoint, writeCheckpoint } = await loadModule<
      typeof import('../../../src/sinks/output/checkpoint-format.js')
    >(library, 'sinks/output/checkpoint-format');
    const { nodeFileSystem } = await loadModule<
      typeof import('../../../src/storage/file-system.js')
    >(library, 'storage/file-system');
    const { readToken } = await loadModule<typeof import('../../../src/users/token-file.js')>(
      library,
      'users/token-file',
    );
    const { StateFile } = await loadModule<typeof import('../../../src/service/state-file.js')>(
      library,
      'service/state-file',
    );
    const errors = await outcomes(library);
    const folder = await mkdtemp(path.join(os.tmpdir(), 'millrace-fuzz-'));
    const file = path.join(folder, 'run.json');
    const owner = { sink: { step: 'files', path: 'x' }, flow: [{ step: 'search', query: 'rain' }] };
    const counts = { path: 'posts.jsonl', bytes: 10, posts: 2, lineBytes: 10 };
    await writeCheckpoint(nodeFileSystem, file, {
      ...{ state: 'running', owner: owner as never, cursor: '{"next":"abc"}' },
      files: [counts],
    });
    const checkpoint = await nodeFileSystem.readFile(file, 'utf8');
    const whole = await readCheckpoint(nodeFileSystem, file, owner as never);
    const application = { consumerKey: 'key', oauthUrl: new URL('https://api.example.com/') };
    const tokens = JSON.stringify({
      ...{ version: 1, oauthUrl: application.oauthUrl.href, consumerKey: 'key' },
      ...{ userId: '9007199254740993', screenName: 'ada', token: 'a', secret: 'b' },
    });
    return {
      tokens: [...TOKENS, '"check": "', '"version": 1', '"files": [', '"token":'],
      maxBytes: 4_000,
      seed: random => Buffer.from(random.pick([checkpoint, checkpoint, tokens])),
      async attempt(input) {
        await writeFile(file, input, { mode: 0o600 });
        const read = await errors.ofAsync(() =>
          readCheckpoint(nodeFileSystem, file, owner as never),
        );
        if (read.value !== undefined)
          expectSame(read.value, whole, 'A checkpoint that nobody wrote is accepted:');
        const token = await errors.ofAsync(() => readToken(file, application));
        if (token.value !== undefined) {
          const { userId, screenName } = token.value;
          for (const text of [userId, screenName, token.value.token.reveal()])
            check(typeof text === 'string' && text !== '', 'Tokens with a part that is not a text');
        }
        await errors.ofAsync(() => new StateFile(file, 'the state').read(state => state));
        return read.value !== undefined || token.value !== undefined;
      },
      close: () => rm(folder, { recursive: true, force: true }),
    };
  },
};

/** Messages of a JetStream stream, which any program may publish to. */
export const streamMessages: ParserKind = {
  holds:
    'posts whose lengths are those of the header, from a payload of that size, or a `DataError`',
  async open(library) {
    const { postsOf } = await loadModule<typeof import('../../../src/jetstream/posts-of.js')>(
      library,
      'jetstream/posts-of',
    );
    const { HEADERS } = await loadModule<typeof import('../../../src/jetstream/message.js')>(
      library,
      'jetstream/message',
    );
    const { gzipSync } = await import('node:zlib');
    const errors = await outcomes(library);
    return {
      tokens: [
        '1',
        ',',
        '3,4',
        'gzip',
        'zstd',
        'constructor',
        '__proto__',
        '1e9',
        '0x8',
        '1.5',
        ' ',
        '\n',
      ],
      // The headers are before the first empty line, then the payload.
      seed(random) {
        const posts = Array.from({ length: random.whole(1, 3) }, () =>
          '{"id_str":"1"}'.slice(random.whole(0, 3)),
        );
        const content = Buffer.from(posts.join('\n'));
        const isGzip = random.chance(0.5);
        return Buffer.concat([
          Buffer.from(
            `${posts.map(({ length }) => length).join(',')}\n${isGzip ? 'gzip' : ''}\n\n`,
          ),
          isGzip ? gzipSync(content) : content,
        ]);
      },
      async attempt(input) {
        const [lengths = '', encoding = ''] = input.toString('latin1').split('\n', 2);
        const payload = input.subarray(lengths.length + encoding.length + 3);
        const headers = new Map<string, string>([
          [HEADERS.lengths, lengths],
          [HEADERS.encoding, encoding],
        ]);
        const reader = { get: (name: string) => headers.get(name) ?? '' };
        const { value: posts } = await errors.ofAsync(() => postsOf(payload, reader, 'the stream'));
        if (posts === undefined || lengths === '' || payload.length === 0)
          return posts !== undefined;
        check(/^\d+(,\d+)*$/.test(lengths), `Lengths ${JSON.stringify(lengths)} are accepted`);
        check(['', 'gzip', 'zstd'].includes(encoding), `Encoding ${encoding} is accepted`);
        expectSame(
          posts.map(({ length }) => length).join(','),
          lengths.replace(/\b0+(?=\d)/g, ''),
          'Lengths',
        );
        for (const post of posts) check(Buffer.isBuffer(post), 'A post that is not a Buffer');
        return true;
      },
    };
  },
};

/** Responses about jobs, and the CSV list of their files. */
export const jobResponses: ParserKind = {
  holds: 'addresses that are https or on this machine, counts that are numbers, or a `DataError`',
  async open(library) {
    const jobs = await loadModule<typeof import('../../../src/jobs/parse-job.js')>(
      library,
      'jobs/parse-job',
    );
    const { parseEngagement } = await loadModule<
      typeof import('../../../src/users/engagement-response.js')
    >(library, 'users/engagement-response');
    const { parseExact } = await loadModule<typeof import('../../../src/json/exact-json.js')>(
      library,
      'json/exact-json',
    );
    const errors = await outcomes(library);
    const url = 'https://archive.example/2018/01/06/20/00_activities.json.gz?Signature=SECRET';
    const job = {
      ...{ title: 'rain', jobURL: 'https://example/jobs/abc123.json', status: 'delivered' },
      ...{ fromDate: '201801010000', toDate: '201801020000', percentComplete: 100 },
      quote: {
        estimatedActivityCount: 1,
        estimatedDurationHours: '1.0',
        estimatedFileSizeMb: '2',
        expiresAt: 'x',
      },
      results: { activityCount: 5, fileCount: 1, fileSizeMb: '1.0', dataURL: 'x', expiresAt: 'y' },
    };
    const seeds = [
      ...[`a.json.gz\t${url}\r\nb.json.gz\t${url}\n`, JSON.stringify(job)],
      JSON.stringify({ jobs: [job], delivered: { jobCount: 1, jobDaysRun: 2, activityCount: 3 } }),
      JSON.stringify({ urlCount: 1, urlList: [url], totalFileSizeBytes: 5, expiresAt: 'x' }),
      JSON.stringify({
        posts: { '1': { favorites: '5', replies: 0 } },
        errors: [{ message: 'x', tweet_id: '1' }],
      }),
    ];
    return {
      tokens: [
        ...TOKENS,
        '\t',
        '\n',
        'http://',
        'https://user:x@',
        'javascript:',
        '?Signature=SECRET',
        '"urlList":[',
      ],
      seed: random => Buffer.from(random.pick(seeds)),
      attempt(input) {
        const text = input.toString();
        const origin = 'http://127.0.0.1/';
        const csv = errors.of(() => jobs.parseJobCsv(text, origin));
        const { value: json, error } = errors.of(() => parseExact(text));
        const listing =
          error === undefined ? errors.of(() => jobs.parseJobListing(json, origin)) : csv;
        for (const { error } of [csv, listing])
          check(
            !/\?[^"]*Signature=SECRET/.test(error ?? ''),
            `An error shows a signature: ${error}`,
          );
        const addresses = [
          ...(csv.value ?? []).map(one => one.url),
          ...((listing.value as { urlList?: readonly string[] } | undefined)?.urlList ?? []),
        ];
        for (const address of addresses) {
          const { protocol, hostname, username } = new URL(address);
          check(
            username === '' &&
              (protocol === 'https:' || /^(localhost|127\.[\d.]+|\[::1\])$/.test(hostname)),
            `Accepted as an address: ${address}`,
          );
        }
        errors.of(() => jobs.parseJob(json, origin));
        errors.of(() => jobs.parseJobList(json, origin));
        const groupings = { posts: { group_by: ['tweet.id', 'engagement.type'] } } as never;
        errors.of(() => parseEngagement(text, ['1', '2'], groupings, origin));
        return addresses.length > 0;
      },
    };
  },
};
