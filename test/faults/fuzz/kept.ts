import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { crc32 } from 'node:zlib';
import type { Checkpoint } from '../../../src/sinks/commit/checkpoint-text.js';
import { unchecked } from '../../unchecked.js';
import { loadModule } from '../load-library.js';
import type { Random } from '../random.js';
import { check, cutUp, expectSame, outcomes, type ParserKind, temporaryFolder } from './parser.js';
import { JSON_TOKENS } from './seeds.js';

export const keptFiles: ParserKind = {
  holds:
    'only what was written is accepted; behind a right checksum, a state, counts and paths of their types; times are those of whole lines',
  async open(library) {
    const { readCheckpoint, writeCheckpoint } = await loadModule(
      library,
      'sinks/commit/checkpoint-file',
    );
    const { nodeFileSystem } = await loadModule(library, 'storage/file-system');
    const { readToken } = await loadModule(library, 'users/sign-in');
    const { Grants } = await loadModule(library, 'service/users/grants');
    const { ConnectLog } = await loadModule(library, 'replay/connect-log');
    const errors = await outcomes(library);
    const { folder, close } = await temporaryFolder();
    const file = path.join(folder, 'run.json');
    const grants = path.join(folder, 'oauth', 'grants.json');
    await mkdir(path.dirname(grants));
    const owner = { sink: { step: 'files', path: 'x' }, flow: [{ step: 'search', query: 'rain' }] };
    const counts = { path: 'posts.jsonl', bytes: 10, posts: 2, lineBytes: 10 };
    await writeCheckpoint(nodeFileSystem, file, {
      state: 'running',
      owner: unchecked(owner),
      cursor: '{"next":"abc"}',
      files: [counts, { ...counts, path: 'b.jsonl.gz', lineBytes: 90, branch: 1 }],
    });
    const checkpoint = await nodeFileSystem.readFile(file, 'utf8');
    const whole = await readCheckpoint(nodeFileSystem, file, unchecked(owner));
    const application = { consumerKey: 'key', oauthUrl: new URL('https://api.example.com/') };
    const tokens = JSON.stringify({
      version: 1,
      oauthUrl: application.oauthUrl.href,
      consumerKey: 'key',
      userId: '9007199254740993',
      screenName: 'ada',
      token: 'a',
      secret: 'b',
    });
    const log = new ConnectLog(folder, 'acme');
    await log.add(Date.UTC(2024, 0, 1));
    await log.add(Date.UTC(2024, 1, 29));
    await log.move(Date.UTC(2024, 0, 1), Date.UTC(2024, 0, 1, 0, 1));
    const [connects = ''] = (await readdir(folder)).filter(name => name.endsWith('.log'));
    const times = await readFile(path.join(folder, connects), 'utf8');
    return {
      tokens: [
        ...JSON_TOKENS,
        ...['"next":', '"source":"search"', '"check": "', '"version": 1', '"files": [', '"token":'],
        ...['"state": "running"', '"flow": ', '"sink": ', '"bytes":', '"branch":', '"path":'],
      ],
      maxBytes: 4_000,
      seed: random => Buffer.from(random.pick([checkpoint, checkpoint, tokens, times])),
      async attempt(input, random) {
        // Half of the mutated checkpoints get the right checksum. All others are refused because of
        // their checksum.
        const text = random.chance(0.5)
          ? withOtherValue(input.toString(), random)
          : input.toString();
        const summed = random.chance(0.5) ? withRightSum(text) : undefined;
        await writeFile(file, summed ?? input, { mode: 0o600 });
        const read = await errors.ofAsync(() =>
          readCheckpoint(nodeFileSystem, file, unchecked(owner)),
        );
        if (read.value !== undefined && summed !== undefined) checkIsCheckpoint(read.value);
        else if (read.value !== undefined)
          expectSame(read.value, whole, 'A checkpoint that nobody wrote is accepted:');
        const token = await errors.ofAsync(() => readToken(file, application));
        if (token.value !== undefined) {
          const { userId, screenName } = token.value;
          for (const text of [userId, screenName, token.value.token.reveal()])
            check(typeof text === 'string' && text !== '', 'Tokens with a part that is not a text');
        }
        await writeFile(grants, input);
        await errors.ofAsync(() => new Grants(folder).open());
        await writeFile(path.join(folder, connects), input);
        const connected = await errors.ofAsync(() => log.read());
        expectSame(connected.value, timesIn(input.toString('latin1')), 'Times of connections');
        return [read.value, token.value, connected.value?.[0]].some(value => value !== undefined);
      },
      close,
    };
  },
};

const OTHER_VALUES = [
  'null',
  'true',
  '-1',
  '0.5',
  '1e400',
  '9007199254740993',
  '"x"',
  '""',
  '{}',
  '[]',
];

/** Replaces a string or a number with another value, so that the text is still JSON. */
function withOtherValue(text: string, random: Random): string {
  const found = [...text.matchAll(/(?<="\w+": ?)("[^"]*"|-?\d+|null)/g)];
  if (found.length === 0) return text;
  const { index, 0: value } = random.pick(found);
  return text.slice(0, index) + random.pick(OTHER_VALUES) + text.slice(index + value.length);
}

function withRightSum(text: string): string | undefined {
  const at = text.lastIndexOf('  "check": "');
  if (at === -1) return undefined;
  const sum = crc32(text.slice(0, at)).toString(16).padStart(8, '0');
  return `${text.slice(0, at)}  "check": "${sum}"\n}\n`;
}

/**
 * Checks that the values of a checkpoint with a right checksum have the right types. The values
 * themselves may be anything.
 */
function checkIsCheckpoint({ state, files }: Checkpoint): void {
  check(['running', 'finishing', 'complete'].includes(state), `A state: ${state}`);
  for (const { path: name, posts, bytes, lineBytes, branch = 0, settled = 0 } of files) {
    check(typeof name === 'string' && name !== '', `A path: ${JSON.stringify(name)}`);
    for (const count of [posts, bytes, lineBytes, branch === 'damaged' ? 0 : branch, settled])
      check(Number.isSafeInteger(count) && count >= 0, `A count: ${JSON.stringify(count)}`);
  }
}

/**
 * Returns the times in the lines. Each line is a time, or says that a time was replaced with
 * another one. An incomplete line is ignored.
 */
function timesIn(text: string): readonly number[] {
  const times: number[] = [];
  for (const line of text.split('\n')) {
    const [added, moved, ...more] = line.split(' ').map(timeOf);
    if (added === undefined || more.length > 0) continue;
    if (moved === undefined && line.includes(' ')) continue;
    const index = moved === undefined ? -1 : times.indexOf(added);
    if (index !== -1) times.splice(index, 1);
    times.push(moved ?? added);
  }
  return times.toSorted((a, b) => a - b);
}

/** Parses a time. Formats the result and compares the strings, so that 31 February is invalid. */
function timeOf(text: string): number | undefined {
  const ms = Date.parse(text);
  return !Number.isNaN(ms) && new Date(ms).toISOString() === text ? ms : undefined;
}

export const tombstones: ParserKind = {
  holds:
    'a tombstone that was encoded, or a `StorageError`; a damaged head of the file is refused before it is mapped',
  async open(library) {
    const { Tombstones } = await loadModule(library, 'compliance/tombstones');
    const { encodeTombstone } = await loadModule(library, 'compliance/tombstones');
    const { lmdbDamage } = await loadModule(library, 'storage/open-lmdb');
    const errors = await outcomes(library);
    const { folder, close } = await temporaryFolder();
    const file = path.join(folder, 'data.mdb');
    let stored: Buffer = Buffer.alloc(0);
    const root = {
      getBinary: () => stored,
      doesExist: () => true,
      put: async () => true,
      getStats: () => ({ entryCount: 1 }),
      getKeysCount: () => 0,
    };
    // Replaces LMDB. LMDB does not check stored values, so this store returns the input as a value.
    const marks: ConstructorParameters<typeof Tombstones>[1] = {
      root,
      transaction: async action => action(root),
      close: async () => {},
    };
    const store = new Tombstones(folder, marks, true);
    const writable = new Tombstones(folder, marks, false);
    const seeds = [
      { deleted: true },
      { dropped: [5, true], withheld: [6, ['DE', 'XX']] },
      { deleted: [7, false], protected: [8, true], suspended: [9, false], scrubbedUpTo: '99' },
      { edited: true },
    ] as const;
    const event = { kind: 'delete', postId: '1', userId: '2', at: new Date(1), raw: Buffer.of(1) };
    const meta = Buffer.alloc(152);
    meta.writeUInt32LE(0xbeefc0de, 24);
    meta.writeUInt32LE(4096, 48);
    return {
      tokens: ['"deleted":', 'true', '[1,true]', 'null', '"scrubbedUpTo":"', '"__proto__":', '{}'],
      maxBytes: 2_000,
      seed: random =>
        random.chance(0.2) ? meta : encodeTombstone(random.pick<(typeof seeds)[number]>(seeds)),
      async attempt(input) {
        stored = input;
        const post = errors.of(() => store.post('1'));
        const user = errors.of(() => store.user('1'));
        if (post.value !== undefined)
          // Storing the tombstone again must neither lose nor add anything.
          expectSame(
            JSON.parse(JSON.stringify(post.value)),
            input.toString() === 'D' ? { deleted: true } : JSON.parse(input.toString()),
            'Tombstone',
          );
        check((post.value === undefined) === (user.value === undefined), 'Posts and users differ');
        errors.of(() => store.cursor('compliance'));
        await errors.ofAsync(() => writable.record(unchecked([event])));
        await writeFile(file, input);
        const damage = lmdbDamage(file);
        check(damage === undefined ? input.length === 0 : damage !== '', 'A file of LMDB');
        return post.value !== undefined;
      },
      close,
    };
  },
};

/**
 * The file in which records wait for a slow consumer. A record may contain any bytes except for the
 * separator.
 */
export const spool: ParserKind = {
  holds: 'the records that were put in, however much of them goes to disk',
  async open(library) {
    const { ReplaySpool } = await loadModule(library, 'replay/replay-spool');
    const errors = await outcomes(library);
    const { folder, close } = await temporaryFolder();
    return {
      tokens: ['\r\n', '\r', '\n', '{', '}', '\0'],
      maxBytes: 8_000,
      seed: random =>
        Buffer.from(
          Array.from({ length: random.whole(1, 8) }, () =>
            '{"id":1}'.repeat(random.whole(1, 9)),
          ).join('\r\n'),
        ),
      async attempt(input, random) {
        const records = input
          .toString('latin1')
          .split(/(?:\r*\n)+|\r/)
          // A record does not start with white space or a byte order mark.
          .map(record => record.replace(/^(?:[ \t]|\xef\xbb\xbf)+|[ \t]+$/g, ''))
          .filter(record => record.trim() !== '');
        const kept = new ReplaySpool(folder, random.pick([0, 1, 100, 10_000]));
        // Most records are views of one buffer that also contains their separators. A framer
        // delivers records in this form.
        const all = Buffer.from(records.join('\r\n'), 'latin1');
        let from = 0;
        const views = records.map(({ length }) => {
          const view = all.subarray(from, from + length);
          from += length + 2;
          return random.chance(0.8) ? view : Buffer.from(view);
        });
        const read = await errors.ofAsync(async () => {
          for (const part of cutUp(Buffer.alloc(views.length, 1), random))
            await kept.add(views.splice(0, part.length));
          const found: string[] = [];
          for await (const some of kept.read())
            for (const record of some) found.push(record.toString('latin1'));
          return found;
        });
        await kept.close();
        if (read.value !== undefined) expectSame(read.value, records, 'Records');
        return read.value !== undefined;
      },
      close,
    };
  },
};

export const jobFolders: ParserKind = {
  holds: 'a verdict of texts and counts, or a `StorageError`',
  async open(library) {
    const { foldersVerdict } = await loadModule(library, 'jobs/download-folder');
    const { lockJobFolder } = await loadModule(library, 'jobs/download-folder');
    const errors = await outcomes(library);
    const { folder, close } = await temporaryFolder();
    const record = {
      basis: {
        job: { uuid: 'abc123', title: 'rain', results: { activityCount: 2 } },
        urlCount: 1,
        totalBytes: 7,
        listed: 1,
        suspectMinutes: ['201801010000'],
      },
      shard: { index: 1, of: 1 },
      files: [{ name: '201801010000', path: 'a.json.gz', bytes: 7, posts: 2, suspectMinutes: [] }],
      missing: [],
    };
    await writeFile(path.join(folder, 'a.json.gz'), '1234567');
    const job = { uuid: 'abc123', title: 'rain', jobURL: 'https://example/jobs/abc123.json' };
    return {
      tokens: ['"bytes":', '"posts":', '-1', '1e99', 'null', '"../../', '{}', '[]', '"shard":'],
      maxBytes: 4_000,
      seed: random =>
        Buffer.from(JSON.stringify(random.chance(0.8) ? record : { job: 'abc123', ...job })),
      async attempt(input) {
        await writeFile(path.join(folder, '.millrace-download.json'), input);
        const { value } = await errors.ofAsync(() => foldersVerdict([folder]));
        if (value !== undefined) {
          for (const { expected = 0, delivered } of [value.files, value.bytes, value.posts])
            for (const count of [expected, delivered])
              check(Number.isSafeInteger(count) && count >= 0, `A count of ${count}`);
          for (const text of [...value.missing, ...value.suspectMinutes, value.uuid, value.title])
            check(typeof text === 'string', `A name that is ${JSON.stringify(text)}`);
        }
        await writeFile(path.join(folder, '.millrace-job.json'), input);
        const locked = await errors.ofAsync(() => lockJobFolder(folder, unchecked(job)));
        await locked.value?.release();
        return value !== undefined;
      },
      close,
    };
  },
};
