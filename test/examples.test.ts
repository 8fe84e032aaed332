import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import http from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { gunzipSync, gzipSync } from 'node:zlib';
import { parse } from 'csv-parse/sync';
import Database from 'libsql';
import { createService, samplePosts } from 'millrace/service';
import { beforeEach, describe, expect, it } from 'vitest';
import { environmentOf } from '../src/service/account-variables.js';
import { BASH_ARGS, type Ended, outputOf, spawn } from './child-processes.js';
import { compiled } from './compiled.js';
import { readSqlite } from './databases/stored-rows.js';
import { hasNatsServer } from './jetstream/nats-server.js';
import { ScriptRunner } from './script-runner.js';
import { bySuite, isNightly } from './suite.js';
import { temporaryFolder } from './temporary-folder.js';

const root = path.resolve(import.meta.dirname, '..');
const runsTwice = isNightly;
let folder: string;

beforeEach(async () => {
  folder = await temporaryFolder();
});

interface Csv {
  readonly id: string;
  readonly words: string;
  readonly text: string;
}

const scripts = new ScriptRunner();
/**
 * Examples that run in a separate process, because they start processes, or change or end their own
 * process.
 */
const ALONE = [
  '04-local-archive.ts',
  '05-try-rules.ts',
  '16-shards.ts',
  '20-several-machines.ts',
  '25-observed.ts',
];

/** `behind` is shell code after the command, such as a pipe. */
function run(
  example: string,
  args: readonly string[] = [],
  behind = '',
  env: NodeJS.ProcessEnv = {},
): Promise<Ended> {
  const script = compiled(path.join(root, 'examples', example));
  if (behind === '' && !ALONE.includes(example))
    return scripts.run({ script, args, cwd: folder, env: { ...process.env, ...env } });
  return runCommand([script, ...args], behind, env);
}

function runWithTsx(example: string): Promise<Ended> {
  const tsx = createRequire(import.meta.url).resolve('tsx/cli');
  return runCommand([tsx, path.join(root, 'examples', example)]);
}

function runCommand(
  args: readonly string[],
  behind = '',
  env: NodeJS.ProcessEnv = {},
): Promise<Ended> {
  const command = [process.execPath, ...args];
  const quoted = command.map(part => `'${part}'`).join(' ');
  const child = spawn('bash', [...BASH_ARGS, `set -o pipefail; ${quoted} ${behind}`], {
    cwd: folder,
    env: {
      ...process.env,
      ...env,
      TSX_TSCONFIG_PATH: path.join(root, 'tsconfig.json'),
    },
  });
  return outputOf(child);
}

async function linesIn(...names: string[]): Promise<string[]> {
  const texts = names.map(async name => {
    const bytes = await readFile(path.join(folder, name));
    return (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString();
  });
  return (await Promise.all(texts)).flatMap(text => text.trim().split('\n'));
}

async function writeArchive(minutes: number): Promise<string> {
  const archive = path.join(folder, 'archive');
  await mkdir(archive);
  for (let minute = 0; minute < minutes; minute++) {
    const posts = samplePosts(Date.UTC(2022, 9, 3, 12, minute), { postsPerMinute: 10 });
    const text = posts.map(post => `${post.raw}\n`).join('');
    await writeFile(path.join(archive, `${minute}.json.gz`), gzipSync(text));
  }
  return archive;
}

describe('the example', () => {
  it('00-start: writes posts to files by topic, and draws a chart', async () => {
    const { code, stdout } = await (isNightly ? runWithTsx : run)('00-start.ts');
    expect(code).toBe(0);
    const names = await readdir(path.join(folder, 'out/start'));
    expect(names.toSorted()).toEqual(
      ['coffee', 'football', 'music', 'rain'].map(n => `${n}.jsonl`),
    );
    const lines = await linesIn(...names.map(name => `out/start/${name}`));
    expect(new Set(lines.map(line => JSON.parse(line).id_str)).size).toBe(5_000);
    expect(stdout).toMatch(/posts in 30 days/);
    expect(stdout).toContain('┤');
  });

  it('01-search-to-files: writes the same files when it is run again', async () => {
    const first = await run('01-search-to-files.ts');
    expect(first.code).toBe(0);
    const names = (await readdir(path.join(folder, 'out/search'))).filter(n => n.endsWith('.gz'));
    const lines = await linesIn(...names.map(name => `out/search/${name}`));
    expect(new Set(lines.map(line => JSON.parse(line).id_str)).size).toBe(5_000);
    expect(lines.length).toBe(5_000);
    if (runsTwice)
      expect(await run('01-search-to-files.ts')).toMatchObject({ code: 0, stdout: first.stdout });
  });

  it('02-counts-chart: draws a chart of the hours', async () => {
    const { code, stdout } = await run('02-counts-chart.ts', ['rain']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/buckets a column/);
    expect(stdout).toMatch(/[1-9]\d* posts in 30 days for rain/);
  });

  it('03-pages-to-stdout: prints complete posts, and ends without an error when the pipe is closed', async () => {
    const whole = await run('03-pages-to-stdout.ts');
    expect(whole.code).toBe(0);
    expect(
      whole.stdout
        .trim()
        .split('\n')
        .map(line => JSON.parse(line).lang),
    ).toEqual(Array.from({ length: 500 }, () => 'en'));
    const cut = await run('03-pages-to-stdout.ts', [], '| head -n 3');
    expect(cut).toMatchObject({ code: 0 });
    expect(cut.stderr).not.toContain('Error');
    expect(cut.stdout.trim().split('\n').length).toBe(3);
  });

  it('04-local-archive: writes one file for each author', async () => {
    const archive = await writeArchive(3);
    const { code, stdout } = await run('04-local-archive.ts', [archive, 'authors']);
    expect(code).toBe(0);
    const names = await readdir(path.join(folder, 'authors'));
    expect(names.length).toBeGreaterThan(5);
    for (const name of names)
      for (const line of await linesIn(`authors/${name}`))
        expect(`${JSON.parse(line).user.screen_name}.jsonl`).toBe(name);
    expect(stdout).toContain(`of ${names.length} authors`);
  });

  it('05-try-rules: shows the problems of rules and what matches', async () => {
    const archive = await writeArchive(3);
    const { code, stdout } = await run('05-try-rules.ts', [archive, 'lang:en', 'has:vidoes']);
    expect(code).toBe(0);
    expect(stdout).toContain('did you mean `videos`?');
    expect(stdout).toMatch(/[1-9]\d* of [1-9]\d* posts match lang:en, such as: \S/);
  });

  it('26-recorded: serves the recorded posts, even without the account', async () => {
    const first = await run('26-recorded.ts');
    expect(first).toMatchObject({ code: 0, stderr: '' });
    const [, posts] =
      /^(\d+) posts recorded in out\/recorded\n\1 posts from/.exec(first.stdout) ?? [];
    expect(Number(posts)).toBeGreaterThan(5);
    const again = await run('26-recorded.ts');
    expect(again).toMatchObject({ code: 0, stdout: `${posts} posts from the recording\n` });
  });

  it('27-damaged-again: repairs some damaged records, and keeps all others in the damaged file', async () => {
    const first = await run('27-damaged-again.ts');
    expect(first).toMatchObject({ code: 0, stderr: '' });
    const [, posts, damaged, mended] =
      /^(\d+) posts, (\d+) damaged records\n(\d+) posts mended, still damaged: \d+\n$/.exec(
        first.stdout,
      ) ?? [];
    // A truncated post cannot be repaired.
    expect(first.stdout).toContain('still damaged: 1\n');
    expect(Number(damaged)).toBe(Number(mended) + 1);
    const outputs = ['2024-01-01.jsonl', '2024-01-01.mended.jsonl'];
    const lines = await linesIn(...outputs.map(name => `out/posts/${name}`));
    expect(lines.length).toBe(Number(posts) + Number(mended));
    const minutes = [0, 1, 2].map(minute => Date.UTC(2024, 0, 1, 12, minute));
    const sampled = minutes.flatMap(at => samplePosts(at, { postsPerMinute: 10 }));
    const cut = sampled.at(-1);
    const whole = sampled.filter(post => post !== cut).map(({ raw }) => String(raw));
    expect(lines.toSorted()).toEqual(whole.toSorted());
    const [rest = ''] = await linesIn('out/damaged/mended.jsonl');
    expect(String(cut?.raw).startsWith(JSON.parse(rest).text)).toBe(true);
    expect(await run('27-damaged-again.ts')).toMatchObject({ code: 0, stdout: first.stdout });
  });

  it('06-job-to-files: writes every post of a job, and nothing when it is run again', async () => {
    const first = await run('06-job-to-files.ts');
    expect(first.code).toBe(0);
    const [, posts = ''] = /with (\d+) of \1 posts; nothing is missing/.exec(first.stdout) ?? [];
    const lines = await linesIn('out/job/rain.jsonl', 'out/job/football.jsonl');
    expect(new Set(lines.map(line => JSON.parse(line).id_str)).size).toBe(Number(posts));
    expect(first.stderr).toMatch(/quoted 0 %.*running \d+ %.*delivered 100 %/s);
    if (!runsTwice) return;
    const again = await run('06-job-to-files.ts');
    expect(again).toMatchObject({ code: 0, stdout: '' });
    expect(again.stderr.trim()).toBe('delivered 100 %');
    expect(await linesIn('out/job/rain.jsonl', 'out/job/football.jsonl')).toEqual(lines);
  });

  it('07-stored-files-by-tag: splits posts by tag, and is named in the errors of 04-local-archive and 05-try-rules if its folder is missing', async () => {
    const readers = ['04-local-archive.ts', '05-try-rules.ts'];
    for (const example of readers) {
      const { code, stdout, stderr } = await run(example);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toContain('There is no folder out/archive');
      expect(stderr).toContain('examples/07-stored-files-by-tag.ts');
      expect(stderr).not.toContain('    at ');
    }
    const first = await run('07-stored-files-by-tag.ts');
    expect(first.code).toBe(0);
    expect(first.stdout).toMatch(/nothing is missing/);
    for (const tag of ['coffee', 'music'])
      for (const line of await linesIn(`out/by-tag/${tag}/2024-01-01.jsonl`))
        expect(JSON.parse(line).matching_rules).toContainEqual(expect.objectContaining({ tag }));
    const stored = await run('07-stored-files-by-tag.ts', ['out/archive']);
    expect(stored).toMatchObject({ code: 0, stdout: first.stdout.split('\n').slice(1).join('\n') });
    for (const example of isNightly ? readers : []) {
      const { code, stdout, stderr } = await run(example);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout).toMatch(/^[1-9]\d* (of \d+ )?posts/);
    }
  });

  it('08-replay-to-files: writes every post of the window exactly once, in hourly files', async () => {
    const first = await run('08-replay-to-files.ts');
    expect(first.code).toBe(0);
    const names = (await readdir(path.join(folder, 'out/replay'))).filter(n => n.endsWith('.gz'));
    expect(names.length).toBe(2);
    const lines = await linesIn(...names.map(name => `out/replay/${name}`));
    expect(new Set(lines.map(line => JSON.parse(line).id_str)).size).toBe(lines.length);
    expect(first.stdout).toContain(`${lines.length} posts, and every minute`);
    expect(lines.length).toBeGreaterThan(100);
    if (!runsTwice) return;
    const again = await run('08-replay-to-files.ts');
    expect(again).toMatchObject({ code: 0, stdout: first.stdout });
  });

  it('09-keep-an-archive-compliant: removes posts that were deleted later, and changes nothing in a second run', async () => {
    for (let times = 0; times < bySuite(1, 2); times++) {
      const { code, stdout } = await run('09-keep-an-archive-compliant.ts');
      expect(code).toBe(0);
      expect(stdout).toMatch(/[1-9]\d* posts stored; [1-9]\d* events; [12] files rewritten/);
      expect(stdout).toMatch(/Removed: \{.*deleted: [1-9]/s);
      expect(stdout).toContain('Files rewritten the second time: 0');
    }
  });

  it('25-observed: exports a span of each request and metrics to a collector', async () => {
    const received: { readonly url: string; readonly body: string }[] = [];
    const collector = http.createServer(async (request, response) => {
      received.push({ url: request.url ?? '', body: await text(request) });
      response.setHeader('content-type', 'application/json').end('{}');
    });
    await new Promise<void>(resolve => collector.listen(0, '127.0.0.1', resolve));
    const { port } = collector.address() as AddressInfo;
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` };
    const { code, stdout, stderr } = await run('25-observed.ts', [], '', env);
    collector.close();
    expect(stderr).toBe('');
    expect(code).toBe(0);
    const [, posts, requests] = /^(\d+) posts in (\d+) requests\n$/.exec(stdout) ?? [];
    expect(Number(posts)).toBeGreaterThan(900);
    const spans = received
      .filter(({ url }) => url === '/v1/traces')
      .flatMap(({ body }) => JSON.parse(body).resourceSpans[0].scopeSpans[0].spans);
    expect(spans).toHaveLength(Number(requests));
    expect(spans[0].name).toMatch(/^POST \/.*\.json$/);
    const [metrics] = received.filter(({ url }) => url === '/v1/metrics');
    expect(metrics?.body).toContain('millrace.request.duration');
    expect(metrics?.body).toContain(`"asDouble":${posts}`);
  });

  it('23-nightly: brings files and tables up to date with the new posts', async () => {
    const { code, stdout, stderr } = await run('23-nightly.ts');
    expect(stderr).toBe('');
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^([1-9]\d* posts added; [1-9]\d* events; [1-9] files rewritten; [1-9] tables written\n){2}$/,
    );
    const posts = await readdir(path.join(folder, 'out/nightly/posts'));
    const tables = await readdir(path.join(folder, 'out/nightly/tables'));
    expect(posts.map(name => name.replace('.jsonl.gz', '.parquet'))).toEqual(tables);
    const ids = (await linesIn(...posts.map(name => `out/nightly/posts/${name}`))).map(
      line => JSON.parse(line).id_str,
    );
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('10-sync-rules: updates the rules, and changes nothing in a second run', async () => {
    const first = await run('10-sync-rules.ts');
    expect(first.stdout).toContain('3 added, 0 deleted, 0 retagged, 0 unchanged (dry run');
    expect(first.stdout).toMatch(/^\d{18,19} weather rain lang:en$/m);
    const again = await run('10-sync-rules.ts');
    expect(again.stdout).toContain('0 added, 0 deleted, 0 retagged, 3 unchanged (dry run');
  });

  it('11-usage-chart: draws a chart and prints the same as rows', async () => {
    const { code, stdout } = await run('11-usage-chart.ts');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ {2}\d{4}-\d\d █+\S* +\d/m);
    expect(stdout).toMatch(/cap of 5,000 activities; \d+ % of it/);
    const rows = (await linesIn('out/usage/rows.jsonl')).map(line => JSON.parse(line));
    const together = rows.filter(({ product }) => product === null);
    expect(together.reduce((sum, { activities }) => sum + activities, 0)).toBeLessThanOrEqual(
      4_500,
    );
    expect(together.at(-1)).toMatchObject({ activities: expect.any(Number), threshold: 5_000 });
    expect(together.at(-1).projected).toBeGreaterThanOrEqual(together.at(-1).activities);
  });

  it('12-engagement-totals: prints totals for the posts of a user, who signs in only once', async () => {
    const first = await run('12-engagement-totals.ts');
    expect(first.code).toBe(0);
    expect(first.stderr).toMatch(
      /^\w+ authorized the application; the token prints as \[redacted\]/,
    );
    const lines = first.stdout
      .trim()
      .split('\n')
      .map(line => JSON.parse(line));
    expect(lines.length).toBeGreaterThan(0);
    for (const { id, ...rest } of lines) {
      expect(id).toMatch(/^\d{18,19}$/);
      const count = expect.any(Number);
      expect(rest).toEqual({ favorites: count, retweets: count, replies: count, errors: [] });
    }
    if (!runsTwice) return;
    const again = await run('12-engagement-totals.ts');
    expect(again).toMatchObject({ code: 0, stderr: first.stderr });
  });

  it.each(['15-into-sqlite.ts', '16-shards.ts'])(
    '%s: uses the service at MILLRACE_BASE_URL, and starts no local service',
    async example => {
      const env = { MILLRACE_BASE_URL: 'https://search.example' };
      const { code, stderr } = await run(example, [], '', env);
      expect(code).not.toBe(0);
      expect(stderr).toContain('MILLRACE_EMAIL');
    },
  );

  it('13-web-sign-in: only the browser that started a sign-in can complete it and see the likes', async () => {
    const { code, stdout, stderr } = await run('13-web-sign-in.ts');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('Another browser: 400 Nobody signed in.');
    expect(stdout).toMatch(/^\d+ likes: \S/m);
  });

  it('15-into-sqlite: stores every post exactly once, and does nothing when it is run again', async () => {
    const first = await run('15-into-sqlite.ts');
    expect(first).toMatchObject({
      code: 0,
      stdout: '2000 posts in out/posts.sqlite\n',
      stderr: '',
    });
    if (runsTwice) expect(await run('15-into-sqlite.ts')).toEqual(first);
  });

  it('15-into-sqlite: stores the whole of a string with a NUL, although the driver reads it only up to the NUL', async () => {
    await using service = createService({ posts: [{ text: 'coffee\0break' }] });
    const env = environmentOf(await service.start(), {});
    expect(await run('15-into-sqlite.ts', [], '', env)).toMatchObject({ code: 0, stderr: '' });
    const db = new Database(path.join(folder, 'out/posts.sqlite'));
    const read = 'SELECT text, CAST(text AS BLOB) AS bytes FROM posts';
    const [post] = db.prepare(read).all() as [{ text: string; bytes: ArrayBuffer }];
    db.close();
    expect(Buffer.from(post.bytes).toString()).toBe('coffee\0break');
    expect(post.text).toBe('coffee');
  });

  it('28-files-and-sqlite: writes the same posts exactly once to files and to the database', async () => {
    const first = await run('28-files-and-sqlite.ts');
    const [, posts, files, rows] =
      /^(\d+) posts in (\d+) files, and (\d+) in /.exec(first.stdout) ?? [];
    expect(first).toMatchObject({ code: 0, stderr: '' });
    expect([posts, rows]).toEqual(['2000', '2000']);
    const names = (await readdir(path.join(folder, 'out/both'))).filter(n => n.endsWith('.gz'));
    expect(names).toHaveLength(Number(files));
    const lines = await linesIn(...names.map(name => `out/both/${name}`));
    const { ids } = readSqlite(path.join(folder, 'out/both/posts.sqlite'));
    expect(lines.map(line => JSON.parse(line).id_str).toSorted()).toEqual(ids.toSorted());
    expect(await run('28-files-and-sqlite.ts')).toEqual(first);
  });

  it('22-into-duckdb: stores every post exactly once, and does nothing when it is run again', async () => {
    const first = await run('22-into-duckdb.ts');
    expect(first).toMatchObject({ code: 0, stdout: '{ rows: 2000 }\n', stderr: '' });
    if (!runsTwice) return;
    const again = await run('22-into-duckdb.ts');
    expect(again).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/rows: 2000,\s+completeSince: /),
    });
  });

  it('17-search-to-csv: writes rows with the chosen columns, and the same rows when it is run again', async () => {
    const first = await run('17-search-to-csv.ts');
    const [, posts, files] = /^(\d+) posts in (\d+) files\n$/.exec(first.stdout) ?? [];
    expect(first).toMatchObject({ code: 0, stderr: '' });
    const names = (await readdir(path.join(folder, 'out/csv'))).filter(name => /csv$/.test(name));
    expect(names.length).toBe(Number(files));
    const texts = await Promise.all(
      names.map(name => readFile(path.join(folder, 'out/csv', name), 'utf8')),
    );
    const rows = texts.flatMap(text => parse(text, { bom: true, columns: true })) as Csv[];
    expect(rows.length).toBe(Number(posts));
    for (const { id, words, text } of rows) {
      expect(id).toMatch(/^\d{19}$/);
      expect(Number(words)).toBeGreaterThan(0);
      expect(text).not.toMatch(/^[=+@-]/);
    }
    if (runsTwice) expect(await run('17-search-to-csv.ts')).toEqual(first);
  });

  it('18-job-to-parquet: writes files that DuckDB can query, and the same files when it is run again', async () => {
    const first = await run('18-job-to-parquet.ts');
    expect(first).toMatchObject({ code: 0 });
    expect(first.stdout).toMatch(/^\d+ rows in 2 files\n/);
    expect(first.stdout).toContain("'football'");
    expect(await readdir(path.join(folder, 'out/dataset/posts/month=2024-01'))).toEqual([
      'tag=football',
      'tag=rain',
    ]);
    if (!runsTwice) return;
    const again = await run('18-job-to-parquet.ts');
    expect(again).toMatchObject({ code: 0, stdout: first.stdout });
  });

  it('16-shards: finds the same posts with 4 processes as with 1', async () => {
    const { code, stdout } = await run('16-shards.ts');
    const counts = [...stdout.matchAll(/^(?:\d\/4|all): (\d+) posts$/gm)].map(match => +match[1]!);
    expect(counts.length).toBe(5);
    const [whole = 0] = /^all: (\d+)/m.exec(stdout)?.slice(1).map(Number) ?? [];
    expect(whole).toBeGreaterThan(100);
    expect(stdout).toContain(`${whole} posts in four shards, the same as those of one process`);
    expect(code).toBe(0);
  });

  it('14-several-searches: writes every post exactly once, however many searches find it', async () => {
    const first = await run('14-several-searches.ts');
    expect(first.code).toBe(0);
    const [, posts, found] = /^(\d+) posts, of (\d+) found by 3/.exec(first.stdout) ?? [];
    expect(Number(posts)).toBeGreaterThan(2_000);
    expect(Number(posts)).toBeLessThan(Number(found));
    const names = (await readdir(path.join(folder, 'out/searches'))).filter(n =>
      n.endsWith('.jsonl'),
    );
    const lines = await linesIn(...names.map(name => `out/searches/${name}`));
    expect(lines.length).toBe(Number(posts));
    expect(new Set(lines.map(line => JSON.parse(line).id_str)).size).toBe(lines.length);
    if (!runsTwice) return;
    const again = await run('14-several-searches.ts');
    expect(again).toMatchObject({
      code: 0,
      stdout: `${posts} posts, of 0 found by 3 searches in this run\n`,
    });
  });

  it('24-many-rules: writes each post exactly once to the files of its tags, within the budget', async () => {
    const { code, stdout, stderr } = await run('24-many-rules.ts');
    expect(stderr).not.toContain('Error');
    expect(code).toBe(0);
    const [, posts = 0, requests = 0] = (
      /^4 rules in 1 query: (\d+) posts, (\d+) requests$/m.exec(stdout) ?? []
    ).map(Number);
    expect(requests).toBe(Math.ceil(posts / 100));
    expect(requests).toBeGreaterThan(3);
    expect(stdout.match(/^3 requests are spent$/gm)?.length ?? 0).toBe(Math.ceil(requests / 3) - 1);
    const tags = ['drinks', 'sports', 'weather'];
    const ids = await Promise.all(
      tags.map(async tag => {
        const lines = await linesIn(`out/rules/${tag}.jsonl`);
        return lines.map(line => JSON.parse(line).id_str as string);
      }),
    );
    for (const of of ids) expect(new Set(of).size).toBe(of.length);
    expect(new Set(ids.flat()).size).toBe(posts);
    expect(stdout).toContain(`complete: ${ids.flat().length} lines in 3 files`);
  });

  it('19-replay-to-three-sinks: writes the same posts to the files and the table, and counts them', async () => {
    const first = await run('19-replay-to-three-sinks.ts');
    expect(first.code).toBe(0);
    const names = (await readdir(path.join(folder, 'out/three'))).filter(n => n.endsWith('.gz'));
    const lines = await linesIn(...names.map(name => `out/three/${name}`));
    const rows = await linesIn('out/three/rain.csv');
    const rain = lines.filter(line => line.includes('"tag":"rain"'));
    expect(rain.length).toBeGreaterThan(10);
    expect(rows.filter(row => /^\d{18,},/.test(row)).map(row => row.split(',')[0])).toEqual(
      rain.map(line => JSON.parse(line).id_str),
    );
    const written = `${lines.length} posts in files, ${rain.length} of them about rain`;
    expect(first.stdout).toContain(written);
    expect(first.stdout).toContain(`, ${rain.length} about rain`);
    if (!runsTwice) return;
    const again = await run('19-replay-to-three-sinks.ts');
    expect(again.stdout).toContain(written);
    expect(again.stdout).toContain('0 about coffee, 0 about rain');
  });

  it.skipIf(!hasNatsServer)(
    '20-several-machines: matches the same posts with 2 readers of a log as with 1, even in a second run',
    async () => {
      const outputs: string[][] = [];
      for (let times = 0; times < bySuite(1, 2); times++) {
        const { code, stdout, stderr } = await run('20-several-machines.ts', ['--rules', '2000']);
        expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
        const numberIn = (pattern: RegExp) => Number(pattern.exec(stdout)?.[1]);
        const whole = numberIn(/^1\/1: (\d+) posts match$/m);
        expect(whole).toBeGreaterThan(10);
        expect(numberIn(/^1\/2: (\d+)/m)).toBeLessThan(whole);
        expect(stdout).toContain(`${whole} rows in two tables, the same as those of one process`);
        outputs.push(stdout.trim().split('\n').toSorted());
      }
      expect(new Set(outputs.map(String)).size).toBe(1);
    },
  );
});
