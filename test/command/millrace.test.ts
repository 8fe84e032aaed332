import { once } from 'node:events';
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { formatTimestamp, HOUR, MINUTE } from '../../src/base/time.js';
import { openTombstones } from '../../src/compliance/tombstones.js';
import { SETTINGS, type SettingName } from '../../src/http/settings.js';
import { createService, type Service } from '../../src/service/index.js';
import { BASH_ARGS, outputOf, spawn } from '../child-processes.js';
import { compiled } from '../compiled.js';
import { ofPost } from '../compliance/event.js';
import { ScriptRunner } from '../script-runner.js';
import { temporaryFolder } from '../temporary-folder.js';

const COMMAND = compiled(path.resolve(import.meta.dirname, '../../src/command/millrace.ts'));

let service: Service;
let env: NodeJS.ProcessEnv;
let folder: string;
let window: readonly string[];

beforeAll(async () => {
  folder = await temporaryFolder();
  service = createService({ limits: 'relaxed', postsPerMinute: 20, jobDwellMs: 20 });
  const addresses: Partial<Record<string, unknown>> = { ...(await service.start()) };
  const variables = (Object.keys(SETTINGS) as SettingName[])
    .filter(name => name in addresses)
    .map(name => [SETTINGS[name].env, String(addresses[name])]);
  env = { ...process.env, ...Object.fromEntries(variables) };
  const now = service.clock.now();
  const [from, to] = [now - 4 * HOUR, now - 3 * HOUR].map(formatTimestamp) as [string, string];
  window = ['--from-date', from, '--to-date', to];
  const rules = [
    { value: 'coffee', tag: 'coffee' },
    { value: 'coffee lang:en', tag: 'english' },
  ];
  await writeFile(path.join(folder, 'rules.json'), JSON.stringify(rules));
});
afterAll(() => service.stop());

const scripts = new ScriptRunner();

/**
 * Runs a command in the process that all tests share, because starting Node and loading the library
 * would take most of the time.
 */
function millrace(...args: string[]) {
  return scripts.run({ script: COMMAND, args, env, cwd: folder });
}

function start(...args: string[]) {
  return spawn(process.execPath, [COMMAND, ...args], { env, cwd: folder });
}

function shell(script: string) {
  const head = `set -o pipefail; millrace() { ${process.execPath} ${COMMAND} "$@"; }`;
  return outputOf(spawn('bash', [...BASH_ARGS, `${head}\n${script}`], { env, cwd: folder }));
}

const linesOf = (text: string) => text.split('\n').filter(line => line !== '');
const idsOf = (text: string) => linesOf(text).map(line => String(JSON.parse(line).id_str));

describe('the command millrace', () => {
  it.concurrent('prints the warnings about a rule in a dry run', async () => {
    const rule = '#snow OR #ice lang:en';
    const { code, stderr } = await millrace('search', rule, '--dry-run', ...window);
    expect(code).toBe(0);
    expect(stderr).toMatch(/^search: the service accepts this.*warning\[R106\].* request/s);
  });

  it.concurrent('writes posts of a search to standard output, and progress to standard error', async () => {
    const { code, stdout, stderr } = await millrace('search', 'coffee', ...window);
    expect(code).toBe(0);
    const ids = idsOf(stdout);
    expect(ids.length).toBeGreaterThan(0);
    expect(new Set(ids).size).toBe(ids.length);
    expect(stderr).toMatch(`written ${ids.length} `);
    const short = window.map(arg => arg.replace('-date', ''));
    const quiet = await millrace('search', 'coffee', ...short, '--quiet');
    expect(idsOf(quiet.stdout).toSorted()).toEqual(ids.toSorted());
    expect(quiet.stderr).toBe('');
    const json = await millrace('search', 'coffee', ...window, '--json', '--quiet');
    expect(idsOf(json.stdout).toSorted()).toEqual(ids.toSorted());
    expect(JSON.parse(json.stderr)).toMatchObject({ posts: ids.length });
  });

  it.concurrent('writes the files that --out names, and continues from its checkpoint', async () => {
    const args = ['search', 'coffee OR tea', ...window, '--checkpoint', 'search.json', '--json'];
    const first = await millrace(...args, '--out', 'search/{day}.jsonl.gz');
    expect(first.code).toBe(0);
    const written = JSON.parse(first.stdout);
    expect(written).toMatchObject({ posts: expect.any(Number), files: expect.any(Array) });
    const again = await millrace(...args, '--out', 'search/{day}.jsonl.gz');
    expect(again.stderr).toContain('no requests sent');
    expect(JSON.parse(again.stdout)).toMatchObject({ posts: written.posts });
  });

  it.concurrent('divides a search into disjoint shards with --shard', async () => {
    const all = idsOf((await millrace('search', 'coffee', ...window)).stdout);
    const ends = await Promise.all(
      ['1/2', '2/2'].map(shard => millrace('search', 'coffee', ...window, '--shard', shard)),
    );
    const parts = ends.map(({ stdout }) => idsOf(stdout));
    expect(parts.every(({ length }) => length > 0)).toBe(true);
    expect(parts.flat().toSorted()).toEqual(all.toSorted());
    expect(await millrace('search', 'coffee', ...window, '--shard', '3/2')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--shard must be an object such as { index: 2, of: 8 }'),
    });
  });

  it.concurrent('writes CSV or Parquet, depending on the extension of --out', async () => {
    await millrace(
      'search',
      'coffee OR tea',
      ...window,
      '--out',
      'columns.csv',
      '--columns',
      'id,text',
    );
    const [header] = (await readFile(path.join(folder, 'columns.csv'), 'utf8')).split('\n');
    expect(header?.trim()).toBe('id,text');
    await millrace('search', 'coffee OR tea', ...window, '--out', 'posts.parquet');
    const bytes = await readFile(path.join(folder, 'posts.parquet'));
    expect(bytes.toString('latin1', 0, 4)).toBe('PAR1');
  });

  it.concurrent('counts the posts of a search with --dry-run without fetching them', async () => {
    const { stderr, stdout } = await millrace('search', 'coffee OR tea', ...window, '--dry-run');
    const posts = idsOf((await millrace('search', 'coffee OR tea', ...window)).stdout).length;
    expect(stderr).toContain(`${posts.toLocaleString('en')} posts, at least `);
    expect(stdout).toBe('');
  });

  it.concurrent('searches for all rules of a file within the budget of requests', async () => {
    const args = [
      'search',
      '--rules',
      'rules.json',
      ...window,
      '--quiet',
      '--out',
      'rules/{tag}.jsonl',
    ];
    const small = await millrace(
      ...args,
      '--max-results',
      '10',
      '--budget-posts',
      '10',
      '--checkpoint',
      'rules/cp.json',
    );
    expect(small).toMatchObject({ code: 3, stderr: expect.stringContaining('budget') });
    const rest = [
      '--max-results',
      '10',
      '--budget-requests',
      '500',
      '--checkpoint',
      'rules/cp.json',
    ];
    expect(await millrace(...args, ...rest)).toMatchObject({ code: 0 });
    const written = idsOf(await readFile(path.join(folder, 'rules/coffee.jsonl'), 'utf8'));
    const { stdout } = await millrace('search', 'coffee', ...window, '--quiet');
    expect(written.toSorted()).toEqual(idsOf(stdout).toSorted());
  });

  it.concurrent('pipes posts into another command, and exits without an error when the pipe closes', async () => {
    const search = `millrace search 'coffee OR tea' ${window.join(' ')} --quiet`;
    const chain = await shell(
      `${search} | millrace match rules.json --quiet | millrace write 'chain/{tag}/{day}.jsonl' --quiet`,
    );
    expect(chain).toMatchObject({ code: 0, stderr: '', stdout: '' });
    expect((await readdir(path.join(folder, 'chain'))).toSorted()).toEqual(['coffee', 'english']);
    const closed = await shell(`${search} | head -n 1`);
    expect(closed).toMatchObject({ code: 0, stderr: '' });
    expect(idsOf(closed.stdout)).toHaveLength(1);
    await shell(`${search} > stored.jsonl`);
    const converted = await millrace('convert', 'stored.jsonl', '--out', 'stored.csv', '--json');
    const posts = linesOf(await readFile(path.join(folder, 'stored.jsonl'), 'utf8')).length;
    expect(JSON.parse(converted.stdout)).toMatchObject({ posts });
    await shell('mkdir again && cp stored.jsonl again');
    expect(await millrace('convert', 'again', '--out', 'again/all.jsonl', '--quiet')).toMatchObject(
      {
        code: 1,
        stderr: expect.stringContaining(
          'write its posts again. Choose a --out outside the folder\n',
        ),
      },
    );
    expect(await shell('echo "{" | millrace write broken.jsonl --quiet')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('Expected a JSON object'),
    });
  });

  it.concurrent('writes damaged records to the file that --damaged names in convert and write', async () => {
    const search = `millrace search 'coffee OR tea' ${window.join(' ')} --quiet`;
    await shell(`(${search} | head -n 3; echo nothing) > some.jsonl`);
    const args = ['some.jsonl', '--out', 'some.csv', '--columns', 'id', '--json'];
    const converted = await millrace('convert', ...args, '--damaged', 'bad.jsonl');
    expect(converted).toMatchObject({ code: 0 });
    expect(JSON.parse(converted.stdout)).toMatchObject({ posts: 3 });
    expect(await readFile(path.join(folder, 'bad.jsonl'), 'utf8')).toContain('nothing');
    const write = 'millrace write kept.jsonl --damaged unread.jsonl --json < some.jsonl';
    expect(await shell(write)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('"posts":3'),
    });
    expect(await readFile(path.join(folder, 'unread.jsonl'), 'utf8')).toContain('nothing');
    const rules = await readFile(path.join(folder, 'rules.json'), 'utf8');
    await writeFile(path.join(folder, 'marked.json'), `\ufeff${rules}`);
    expect((await millrace('rules', 'validate', 'marked.json')).stdout).toContain('"valid":true');
  });

  it.concurrent('prints counts as JSON lines into a pipe, and as rows into a CSV file', async () => {
    const { stdout } = await millrace('counts', 'coffee', ...window, '--bucket', 'hour');
    const total = linesOf(stdout).reduce((sum, line) => sum + JSON.parse(line).count, 0);
    const ids = idsOf((await millrace('search', 'coffee', ...window)).stdout);
    expect(total).toBe(ids.length);
    const written = await millrace('counts', 'coffee', ...window, '--out', 'counts.csv', '--json');
    // A row of counts is a bucket, so the summary says "rows" and not "posts".
    expect(written.stdout).toMatch(/"rows":\d+,"bytes":\d+,"files":\[{"rows":\d+/);
    expect(written.stdout).not.toContain('"posts"');
    expect(await readFile(path.join(folder, 'counts.csv'), 'utf8')).toMatch(/^time_period,start/);
  });

  it.concurrent('lists, adds and removes the rules of the replay stream', async () => {
    expect((await millrace('rules', 'validate', 'rules.json')).stdout).toContain('"valid":true');
    expect((await millrace('rules', 'add', 'rules.json')).code).toBe(0);
    const listed = linesOf((await millrace('rules', 'list', '--quiet')).stdout);
    expect(listed.map(line => JSON.parse(line).tag).toSorted()).toEqual(['coffee', 'english']);
    const same = await millrace('rules', 'sync', 'rules.json', '--dry-run');
    expect(JSON.parse(same.stdout)).toMatchObject({ unchanged: 2, applied: false });
    expect((await millrace('rules', 'delete', 'rules.json')).code).toBe(0);
    expect((await millrace('rules', 'list', '--quiet')).stdout).toBe('');
  });

  it.concurrent('exits with 1 and points at the mistake if a rule is invalid', async () => {
    const wrong = await millrace('rules', 'check', 'coffee (tea OR');
    expect(wrong.code).toBe(1);
    expect(wrong.stderr).toContain('a group is not closed');
    expect(wrong.stderr).toContain('       -      ^');
    expect(await millrace('rules', 'check', 'coffee lang:en')).toMatchObject({
      code: 0,
      stderr: '',
    });
  });

  it.concurrent('runs a job and downloads its files, but only with --yes', async () => {
    const args = ['job', 'run', '--title', 'a day', '--rules', 'rules.json', '--out', 'job'];
    const asked = await millrace(...args, ...window);
    expect(asked).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('confirm it with --yes'),
    });
    expect(JSON.parse((await millrace('job', 'list')).stdout).jobs).toEqual([]);
    const run = await millrace(...args, ...window, '--yes');
    expect(run).toMatchObject({ code: 0, stderr: expect.stringContaining('nothing is missing') });
    const [job] = JSON.parse((await millrace('job', 'list')).stdout).jobs;
    expect(job).toMatchObject({ status: 'delivered' });
    const quote = await millrace('job', 'quote', job.uuid);
    expect(JSON.parse(quote.stdout)).toMatchObject({ uuid: job.uuid, quote: expect.anything() });
    const again = await millrace('job', 'download', job.uuid, '--out', 'job', '--json');
    expect(JSON.parse(again.stdout)).toMatchObject({ summary: expect.stringContaining('nothing') });
    expect(await millrace('job', 'accept', job.uuid)).toMatchObject({ code: 2 });
  });

  it.skipIf(process.platform !== 'linux').each([
    ['y', ['', 'n', 'not today', 'yesterday', 'y or n']],
    [' YES ', ['no']],
  ] as const)(
    'accepts a job on a terminal only after the answer %j',
    async (accepted, refusals) => {
      const title = `asked for ${accepted}`;
      const args = ['job', 'create', '--title', title, '--rules', 'rules.json', ...window];
      const { uuid } = JSON.parse((await millrace(...args)).stdout);
      const status = async () =>
        JSON.parse((await millrace('job', 'quote', uuid)).stdout).status as string;
      await expect.poll(status, { timeout: 30_000 }).toBe('quoted');
      const answered = async (answer: string) => {
        const command = `${process.execPath} ${COMMAND} job accept ${uuid}`;
        const child = spawn('script', ['-qec', command, '/dev/null'], { env, cwd: folder });
        const output = outputOf(child);
        child.stdout?.once('data', () => child.stdin?.write(`${answer}\n`));
        return output;
      };
      const refused = await Promise.all(refusals.map(answered));
      for (const [index, answer] of refusals.entries()) {
        expect(refused[index]?.stdout).toContain('cannot be stopped. Continue? (y/N)');
        expect([answer, refused[index]]).toMatchObject([
          answer,
          { code: 1, stdout: expect.stringContaining('Not confirmed') },
        ]);
      }
      expect(await status()).toBe('quoted');
      expect((await answered(accepted)).code).toBe(0);
      expect(await status()).not.toBe('quoted');
    },
  );

  it.skipIf(process.platform !== 'linux').concurrent(
    'exits with 130 if the user presses Ctrl+C at the question about the cost',
    async () => {
      const command = `${process.execPath} ${COMMAND} job accept some-job`;
      const child = spawn('script', ['-qec', command, '/dev/null'], { env, cwd: folder });
      const output = outputOf(child);
      child.stdout?.once('data', () => child.stdin?.write('\x03'));
      expect(await output).toMatchObject({
        code: 130,
        stdout: expect.stringContaining(
          'Interrupted. To start again: millrace job accept some-job',
        ),
      });
    },
  );

  it.concurrent('applies stored compliance events to a replay', async () => {
    const now = service.clock.now();
    const [from, to] = [now - 60 * MINUTE, now - 40 * MINUTE].map(formatTimestamp) as [
      string,
      string,
    ];
    const replay = await millrace(
      ...['replay', '--stream-type', 'firehose', '--from-date', from, '--to-date', to],
      ...['--out', 'replay/posts.jsonl', '--json'],
    );
    expect(JSON.parse(replay.stdout).posts).toBeGreaterThan(0);
    expect(await millrace('apply', 'tombstones', 'replay')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('millrace compliance --into tombstones stores them'),
    });
    const events = await millrace('compliance', '--into', 'tombstones', '--until', 'caught up');
    expect(events).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('events in tombstones'),
    });
    const stored = await readdir(path.join(folder, 'replay'));
    const swapped = await millrace('apply', 'replay', 'tombstones');
    expect(swapped).toMatchObject({ code: 2, stdout: '' });
    expect(swapped.stderr).toContain('There are no tombstones in replay');
    expect(await readdir(path.join(folder, 'replay'))).toEqual(stored);
    const applied = await millrace('apply', 'tombstones', 'replay');
    expect(applied.stderr).toMatch(/^Of \d+ posts in 1 files, 0 removed and 0 changed\n$/);
    const options = ['--country', 'DE', '--mask', '--dry-run'];
    expect((await millrace('apply', 'tombstones', 'replay', ...options)).stderr).toMatch(
      /^Of \d+ posts in 1 files, 0 would be masked and 0 would be changed\n$/,
    );
  });

  it.concurrent('applies compliance events while another process records them', async () => {
    const posts = path.join(folder, 'recorded-posts');
    await mkdir(posts);
    await writeFile(path.join(posts, 'posts.jsonl'), '{"id":5,"created_at":"x"}\n');
    await using recording = await openTombstones(path.join(folder, 'recording'));
    await recording.record([ofPost('delete', '5')]);
    const { code, stderr } = await millrace('apply', 'recording', posts);
    expect([code, stderr]).toEqual([0, 'Of 1 posts in 1 files, 1 removed and 0 changed\n']);
  });

  it.concurrent('exits with 130 on an interrupt, and prints how to continue', async () => {
    const child = start('compliance', '--checkpoint', 'none');
    const ended = outputOf(child);
    expect(await ended).toMatchObject({ code: 2 });
    const live = start('compliance');
    const output = outputOf(live);
    // The first line of progress shows that the stream is connected.
    await once(live.stderr, 'data');
    live.kill('SIGINT');
    expect(await output).toMatchObject({
      code: 130,
      stderr: expect.stringContaining('Interrupted. '),
    });
  });

  it.concurrent.each([
    [[], 'To start again: millrace compliance\n'],
    [['--into', 'interrupted'], 'To continue: millrace compliance --into interrupted\n'],
  ])(
    'prints after an interrupt of compliance with %j how to run it again',
    async (flags, advice) => {
      const live = start('compliance', ...flags);
      const output = outputOf(live);
      await once(live.stderr, 'data');
      live.kill('SIGINT');
      expect(await output).toMatchObject({ code: 130, stderr: expect.stringContaining(advice) });
    },
  );

  it.concurrent('exits with 2 for wrong arguments, and suggests correct ones', async () => {
    const wrong: readonly (readonly [readonly string[], string])[] = [
      [['serach', 'x'], 'did you mean millrace search?'],
      [['job', 'hlep'], 'millrace job --help shows its commands'],
      [['search', 'a', '--out', 'a.json'], '--out a.json: JSON lines are not a JSON document'],
      [['search', 'a', '--yes'], 'there is no flag --yes'],
      [
        ['search', 'tea', '--from', '2024-01-02', '--to', '2024-01-01'],
        '--to-date 202401010000 must be after --from-date',
      ],
      [['job', 'download', 'a', '--out', '-'], 'name a folder'],
      [['search'], 'needs a query, or --rules'],
      [['counts'], 'needs another argument. Usage: millrace counts QUERY'],
      [['search', 'a', '--rules', 'rules.json'], 'needs a query, or --rules'],
      [['search', 'a', 'b'], 'one argument too many: b'],
      [['search', 'a', '--form-date', 'x'], 'did you mean --from-date?'],
      [['search', 'a', '--product', '31day'], "--product must be '30day' or 'fullarchive'"],
      [['search', 'a', '--limit', 'many'], '--limit must be'],
      [['match', 'none.json'], 'none.json'],
      [
        ['search', 'coffee', '--out', 'a.csv', '--columns', 'id,postedAt'],
        'did you mean "posted_at"',
      ],
      [['completion', 'fish'], 'bash or zsh'],
    ];
    for (const [args, message] of wrong) {
      const { code, stderr, stdout } = await millrace(...args);
      expect([args, code, stdout]).toEqual([args, 2, '']);
      expect(stderr).toContain(message);
    }
    const json = await millrace('search', 'a', '--product', '31day', '--json');
    expect(JSON.parse(json.stderr)).toMatchObject({ error: { code: 'ERR_OPTION' } });
  });

  it.concurrent('suggests the product fullarchive if the dates are too old for 30day', async () => {
    const old = ['--from', '2020-01-01', '--to', '2020-01-02'];
    const { code, stderr } = await millrace('search', 'tea', ...old);
    expect([code, stderr]).toEqual([1, expect.stringContaining('pass --product fullarchive\n')]);
  });

  it.concurrent('reports the gaps of a replay in terms of flags, not library options', async () => {
    const { code, stderr } = await millrace('replay', '--from', '2020-01-01', '--to', '2020-01-02');
    expect([code, stderr]).toEqual([3, expect.stringContaining('(expired)\n')]);
    expect(stderr).not.toContain('onGap');
    // Another run cannot fetch posts that have expired. Only a job may still have them.
    expect(stderr).not.toMatch(/To (start again|continue)/);
    expect(stderr).toContain('millrace job run');
  });

  it.concurrent('reads the settings of the account from the file that --env-file names', async () => {
    const names = Object.keys(env).filter(name => name.startsWith('MILLRACE_'));
    const lines = names.map(name => `${name}='${env[name]}'\n`);
    await writeFile(path.join(folder, 'account.env'), lines.join(''));
    const bare = Object.fromEntries(Object.entries(env).filter(([name]) => !names.includes(name)));
    const args = ['counts', 'coffee', ...window];
    const run = (...more: string[]) =>
      scripts.run({ script: COMMAND, args: [...args, ...more], env: bare, cwd: folder });
    expect((await run()).code).toBe(2);
    const { code, stdout } = await run('--env-file', 'account.env');
    expect(code).toBe(0);
    expect(stdout).toBe((await millrace(...args)).stdout);
  });

  it.concurrent.each([
    [['search', 'coffee', '--out', 'unheard.jsonl'], 0],
    [['search'], 2],
  ] as const)('with a closed standard error, %j exits with %i', async (args, code) => {
    const child = start(...args, ...window);
    child.stderr?.destroy();
    expect(await once(child, 'exit')).toEqual([code, null]);
  });

  it.concurrent('names the missing environment variables, and the command of the local service that prints them', async () => {
    const bare = { PATH: process.env.PATH };
    const child = spawn(process.execPath, [COMMAND, 'search', 'tea'], { env: bare, cwd: folder });
    const { code, stderr } = await outputOf(child);
    expect(code).toBe(2);
    expect(stderr).toContain('MILLRACE_BASE_URL, MILLRACE_ACCOUNT, ');
    expect(stderr).toContain('npx millrace-service --port 8080 --env');
    expect(stderr).not.toMatch(/`|account\(\)/);
  });

  it.skipIf(process.platform !== 'linux')(
    'exits with a one-line message if the output device is full',
    async () => {
      for (const words of [
        '--help',
        'job --help',
        'search -h',
        'completion bash',
        'job list --print-script',
        'rules validate rules.json',
        'service --help',
      ])
        expect([words, await shell(`millrace ${words} > /dev/full`)]).toEqual([
          words,
          expect.objectContaining({
            code: 1,
            stderr: expect.stringMatching(/^Could not write to standard output: ENOSPC.*\n$/),
          }),
        ]);
    },
  );

  it.concurrent('prints no error if the reader of its help closes the pipe', async () => {
    const closed = await shell('millrace --help | true; millrace completion zsh | true');
    expect(closed).toMatchObject({ code: 0, stderr: '' });
  });

  it.concurrent('refuses a folder as standard input', async () => {
    expect(await shell('millrace write folder.jsonl < .')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Standard input is a folder'),
    });
  });

  it('exits immediately on an interrupt while nothing reads its output', async () => {
    const { stdout } = await millrace('search', 'coffee', ...window, '--quiet');
    const child = start('match', 'rules.json', '--quiet');
    child.stdin?.on('error', () => {});
    const feed = setInterval(() => child.stdin?.write(stdout), 1);
    await once(child.stdout as Readable, 'readable');
    const isFull = () => Number(child.stdin?.writableLength) > 1 << 20;
    await expect.poll(isFull, { timeout: 30_000 }).toBe(true);
    clearInterval(feed);
    child.kill('SIGINT');
    expect(await once(child, 'exit')).toEqual([130, null]);
  });

  it('exits with 3 if posts are missing, and prints the command that continues', async () => {
    service.faults.plant({ kind: 'status', status: 401, times: 1, skip: 1, endpoint: 'search' });
    const rule = `coffee OR tea OR "it's"`;
    const args = ['search', rule, ...window, '--max-results', '10', '--quiet'];
    const kept = ['--checkpoint=part.json', '--out', 'part.jsonl'];
    const { code, stderr } = await millrace(...args, ...kept);
    expect(stderr).toContain('missing: ');
    expect(code).toBe(3);
    const [, command = ''] = /^To continue: (millrace search .*)$/m.exec(stderr) ?? [];
    expect(await shell(command)).toMatchObject({ code: 0, stderr: '' });
    const all = idsOf((await millrace(...args)).stdout);
    const part = idsOf(await readFile(path.join(folder, 'part.jsonl'), 'utf8'));
    expect(part.toSorted()).toEqual(all.toSorted());
  });

  it.concurrent('prints its version', async () => {
    expect((await millrace('--version')).stdout).toBe(`${manifest.version}\n`);
  });

  it.concurrent('prints the help of each command within 24 lines', async () => {
    const { stdout } = await millrace();
    expect(stdout).toContain('  rules check      Checks a rule');
    const names = [...stdout.matchAll(/^ {2}((?:job |rules )?[a-z]+) +[A-Z]/gm)].map(
      ([, name]) => name as string,
    );
    expect(names.length).toBeGreaterThan(20);
    const helps = await Promise.all(
      names
        .filter(name => name !== 'service' && name !== 'completion')
        .map(async name => (await millrace(...name.split(' '), '--help')).stdout),
    );
    for (const help of helps) expect(help.split('\n').length).toBeLessThanOrEqual(24);
  });

  it.concurrent('prints the flags of the service command, and examples that work', async () => {
    const { stdout } = await outputOf(start('service', '--help'));
    expect(stdout).toContain('--posts-per-minute');
    const [, name = ''] = /^Usage: (.*) \[options\]/.exec(stdout) ?? [];
    expect(name).toMatch(/millrace(\.[jt]s)? service$/);
    const [, call = ''] = /eval "\$\((.*)\)"/.exec(stdout) ?? [];
    expect(call).toBe(`${name} --port 8080 --env`);
    const { baseUrl } = service.addresses();
    const ofRunning = call.replace('8080', new URL(baseUrl).port);
    expect((await shell(ofRunning)).stdout).toContain(`MILLRACE_URL='${baseUrl}'`);
    expect((await outputOf(start('service', '-h'))).stdout).toBe(stdout);
  });

  it.concurrent('lists the subcommands of a command family in its help', async () => {
    const { stdout } = await millrace('job', '--help');
    expect(stdout).toContain('  job accept       Accepts the quote');
    expect(stdout).not.toContain('rules');
    for (const words of [['job'], ['job', '-h'], ['help', 'job']])
      expect([words, await millrace(...words)]).toMatchObject([words, { code: 0, stdout }]);
  });

  const onTerminal = async (words: string) => {
    const command = `${process.execPath} ${COMMAND} ${words}`;
    const child = spawn('script', ['-qec', command, '/dev/null'], { env, cwd: folder });
    return (await outputOf(child)).stdout.replaceAll('\r', '');
  };

  it.skipIf(process.platform !== 'linux')(
    'prints JSON instead of a table on a terminal if --json is set',
    async () => {
      expect(await onTerminal('rules validate rules.json --json')).toMatch(
        /^\{"value":"coffee","valid":true\}\n/,
      );
    },
  );

  it.skipIf(process.platform !== 'linux')(
    'prints lists as tables on a terminal, but not with --json',
    async () => {
      expect(await onTerminal('usage --quiet')).toMatch(
        /^publisher +product +period +fromDate +.*\ntwitter /,
      );
      expect(await onTerminal('usage --quiet --json')).toMatch(/^\{"publisher":"twitter",/);
      // The line of progress must be cleared before the chart is printed.
      const chart = await onTerminal(`counts coffee ${window.join(' ')}`);
      expect(chart).toMatch(/\x1b\[1G\x1b\[0K +\d+\.?\d* [┤┼]/);
    },
  );

  it.concurrent('completes commands and flags in the shell', async () => {
    const completed = await shell(`eval "$(millrace completion bash)"
      COMP_WORDS=(millrace rules ch); COMP_CWORD=2; _millrace; echo "\${COMPREPLY[@]}"
      COMP_WORDS=(millrace search x --fr); COMP_CWORD=3; _millrace; echo "\${COMPREPLY[@]}"
      COMP_WORDS=(millrace job run --ti); COMP_CWORD=3; _millrace; echo "\${COMPREPLY[@]}"
      COMP_WORDS=(millrace service c); COMP_CWORD=2; _millrace; echo "\${COMPREPLY[@]}"`);
    expect(completed.stdout).toBe('check\n--from-date\n--title\ncheck\n');
  });

  it.concurrent('prints with --print-script a script that does the same as the command', async () => {
    const modules = path.join(folder, 'node_modules');
    await mkdir(modules);
    await symlink(path.resolve(COMMAND, '../../..'), path.join(modules, 'millrace'));
    const calls = [
      ['search', 'coffee', ...window, '--quiet'],
      ['rules', 'validate', 'rules.json'],
      ['job', 'list'],
      [
        'search',
        "coffee -from:o'hara",
        ...window,
        '--out',
        'script/{tag}.csv',
        '--columns',
        'id,text',
      ],
    ];
    for (const [index, args] of calls.entries()) {
      const script = path.join(folder, `script-${index}.mjs`);
      await writeFile(script, (await millrace(...args, '--print-script')).stdout);
      const ran = await outputOf(spawn(process.execPath, [script], { env, cwd: folder }));
      expect([args, ran.code]).toEqual([args, 0]);
      if (index === 0) expect(ran.stdout).toBe((await millrace(...args)).stdout);
    }
    expect(await readFile(path.join(folder, 'script-3.mjs'), 'utf8')).toContain('routeByTag(),');
  });
});
