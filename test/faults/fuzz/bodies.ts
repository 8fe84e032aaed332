import { gzipSync } from 'node:zlib';
import { unchecked } from '../../unchecked.js';
import { loadModule } from '../load-library.js';
import { check, expectSame, outcomes, type ParserKind } from './parser.js';
import { JSON_TOKENS } from './seeds.js';

export const streamMessages: ParserKind = {
  holds:
    'posts whose lengths are those of the header, from a payload of that size, or a `DataError`',
  async open(library) {
    const { HEADERS, postsOf } = await loadModule(library, 'jetstream/message');
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
      // The headers end at the first empty line. The payload follows.
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
        const { value: posts } = await errors.ofAsync(() => postsOf(payload, reader));
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

export const jobResponses: ParserKind = {
  holds: 'addresses that are https or on this machine, counts that are numbers, or a `DataError`',
  async open(library) {
    const jobs = await loadModule(library, 'jobs/parse-job');
    const { parseEngagement } = await loadModule(library, 'users/engagement-batch');
    const { parseExact } = await loadModule(library, 'json/exact-ids');
    const errors = await outcomes(library);
    const url = 'https://archive.example/2018/01/06/20/00_activities.json.gz?Signature=SECRET';
    const job = {
      title: 'rain',
      jobURL: 'https://example/jobs/abc123.json',
      status: 'delivered',
      fromDate: '201801010000',
      toDate: '201801020000',
      percentComplete: 100,
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
        ...JSON_TOKENS,
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
        const groupings = unchecked({ posts: { group_by: ['tweet.id', 'engagement.type'] } });
        errors.of(() => parseEngagement(json, ['1', '2'], groupings, origin));
        return addresses.length > 0;
      },
    };
  },
};
