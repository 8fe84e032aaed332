import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import {
  mkdir,
  open,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import path from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { DataError, OptionError, StorageError } from '../../src/base/errors.js';
import { thisProcess } from '../../src/base/process-identity.js';
import { applyCompliance } from '../../src/compliance/apply-compliance.js';
import { openTombstones, type Tombstones } from '../../src/compliance/tombstones.js';
import { nodeZstd } from '../../src/gzip/zstd.js';
import { samplePosts } from '../../src/service/sample/sample-posts.js';
import { files } from '../../src/sinks/files.js';
import { takeLock } from '../../src/storage/lock.js';
import { spawn } from '../child-processes.js';
import { temporaryFolder } from '../temporary-folder.js';
import { unchecked } from '../unchecked.js';
import { ofPost, ofUser } from './event.js';

const START = Date.UTC(2022, 9, 3, 12);
let archive: string;
let tombstones: Tombstones;

const posts = Array.from({ length: 6 }, (_, minute) =>
  samplePosts(START + minute * 60_000, { postsPerMinute: 30 }),
);
const infoOf = (count: number) =>
  `{"info":{"message":"Replay Request Completed","sent":"2022-10-04T00:00:00+00:00","activity_count":${count}}}`;
const long = new Date('2023-01-01T00:00:00Z');

beforeEach(async () => {
  const folder = await temporaryFolder();
  archive = path.join(folder, 'archive');
  tombstones = await openTombstones(path.join(folder, 'tombstones'));
  await mkdir(path.join(archive, 'day'), { recursive: true });
  for (const [index, some] of posts.entries()) {
    const lines = [...some.map(({ raw }) => String(raw)), infoOf(some.length)];
    const file = path.join(archive, index % 2 === 0 ? 'day' : '.', `${index}.json.gz`);
    await writeFile(file, gzipSync(`${lines.join('\n')}\n`), { mode: 0o640 });
    await utimes(file, long, long);
  }
});
afterEach(() => tombstones.close());

async function contents(): Promise<Record<string, string[]>> {
  const names = (await readdir(archive, { recursive: true })).filter(name => name.endsWith('.gz'));
  const entries = names.toSorted().map(async name => {
    const text = gunzipSync(await readFile(path.join(archive, name))).toString();
    return [name, text.trimEnd().split('\n')] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

describe('applyCompliance', () => {
  it.runIf(process.platform === 'linux')(
    'rejects a file name that is not UTF-8 before it changes any file',
    async () => {
      await tombstones.record([ofPost('delete', posts[0]?.[0]?.id ?? '')]);
      const before = await contents();
      const name = Buffer.from('/day/caf\xe9.json', 'latin1');
      await writeFile(Buffer.concat([Buffer.from(archive), name]), '');
      const error = await applyCompliance(archive, tombstones).catch(error => error);
      expect(error).toBeInstanceOf(StorageError);
      expect(error.message).toContain("not UTF-8: $'day/caf\\xe9.json'");
      expect(await contents()).toEqual(before);
    },
  );

  it('changes nothing in a dry run, and reports what a run would change', async () => {
    const victim = posts[2]?.[4];
    await tombstones.record([ofPost('delete', victim?.id ?? '')]);
    const before = await contents();
    const dry = await applyCompliance(archive, tombstones, { dryRun: true });
    expect(await contents()).toEqual(before);
    expect(dry.rewritten).toHaveLength(1);
    expect(await applyCompliance(archive, tombstones)).toEqual(dry);
    expect(await contents()).not.toEqual(before);
  });

  it('rewrites only files with affected posts, and no file in a second run', async () => {
    const [victim, author] = [posts[2]?.[4], posts[3]?.[7]];
    if (victim === undefined || author === undefined) throw new Error('There are posts');
    await tombstones.record([ofPost('delete', victim.id), ofUser('user_delete', author.author.id)]);
    const before = await contents();
    const gone = (line: string) =>
      line.includes(victim.id) || line.includes(`"id_str":"${author.author.id}"`);

    const report = await applyCompliance(archive, tombstones);
    const after = await contents();
    const touched = Object.keys(before).filter(name => before[name]?.some(gone));
    expect(report.files).toBe(6);
    expect(report.posts).toBe(posts.flat().length);
    expect(report.rewritten.map(file => path.relative(archive, file.path))).toEqual(
      touched.toSorted(),
    );
    expect(touched.length).toBeLessThan(6);
    expect(report.removed.deleted).toBe(1);
    expect(report.removed['user deleted']).toBeGreaterThan(0);
    for (const [name, lines] of Object.entries(before)) {
      const left = lines.slice(0, -1).filter(line => !gone(line));
      if (touched.includes(name)) expect(after[name]).toEqual([...left, infoOf(left.length)]);
      else expect((await stat(path.join(archive, name))).mtime).toEqual(long);
    }
    expect(await readdir(path.join(archive, 'day'))).toHaveLength(3);
    expect((await stat(path.join(archive, touched[0] ?? ''))).mode & 0o777).toBe(0o640);

    expect(await applyCompliance(archive, tombstones)).toMatchObject({
      rewritten: [],
      removed: {},
      changed: 0,
      posts: report.posts - report.rewritten.reduce((sum, { removed }) => sum + removed, 0),
    });
    expect(await contents()).toEqual(after);
  });

  it.each(['missing', 'day/0.json.gz'])(
    'rejects with the name of the archive if it is not a folder: %s',
    async name => {
      const folder = path.join(archive, name);
      const run = applyCompliance(folder, tombstones);
      await expect(run).rejects.toBeInstanceOf(StorageError);
      await expect(run).rejects.toThrow(`Could not read ${folder}`);
    },
  );

  it('refuses an empty name of the archive', async () => {
    await expect(applyCompliance('', tombstones)).rejects.toThrow(OptionError);
  });

  it('rewrites the files of folders whose names begin with a dot', async () => {
    const [victim, other] = posts[0] ?? [];
    await tombstones.record([ofPost('delete', victim?.id ?? '')]);
    const file = path.join(archive, 'day', '.old', 'posts.jsonl');
    await mkdir(path.dirname(file));
    await writeFile(file, `${victim?.raw}\n${other?.raw}\n`);
    await applyCompliance(archive, tombstones);
    expect(await readFile(file, 'utf8')).toBe(`${other?.raw}\n`);
  });

  it.skipIf(process.platform === 'win32')(
    'follows a symbolic link that is the archive folder itself, but no link in it',
    async () => {
      const [victim] = posts[0] ?? [];
      await tombstones.record([ofPost('delete', victim?.id ?? '')]);
      const link = `${archive}-link`;
      const outside = `${archive}-outside.jsonl`;
      await symlink(archive, link);
      await writeFile(outside, `${victim?.raw}\n`);
      await symlink(outside, path.join(archive, 'linked.jsonl'));
      expect(await applyCompliance(link, tombstones)).toMatchObject({
        files: posts.length,
        removed: { deleted: 1 },
      });
      expect(await readFile(outside, 'utf8')).toBe(`${victim?.raw}\n`);
    },
  );

  it('masks posts instead of removing them with `mask`, and changes nothing in a second run', async () => {
    const victim = posts[1]?.[0];
    await tombstones.record([ofPost('delete', victim?.id ?? '')]);
    const report = await applyCompliance(archive, tombstones, { mask: true });
    expect(report.removed).toEqual({ deleted: 1 });
    const after = await contents();
    expect(after['1.json.gz']?.[0]).toContain('"hidden":"deleted"');
    expect(after['1.json.gz']?.at(-1)).toBe(infoOf(posts[1]?.length ?? 0));
    expect((await applyCompliance(archive, tombstones, { mask: true })).rewritten).toEqual([]);
  });

  it('removes posts whose own fields say that they are withheld', async () => {
    const file = path.join(archive, 'withheld.jsonl');
    const withheld = (...codes: string[]) =>
      String(posts[0]?.[0]?.raw).replace('{', `{"withheld_in_countries":${JSON.stringify(codes)},`);
    const author = String(posts[0]?.[0]?.raw).replace(
      '"user":{',
      '"user":{"withheld_in_countries":["DE"],',
    );
    const lines = [withheld(), withheld('FR'), withheld('FR', 'DE'), author, withheld('XX')];
    const match = (name: string) => name === 'withheld.jsonl';
    await writeFile(file, `${lines.join('\n')}\n`);
    const { removed } = await applyCompliance(archive, tombstones, { match });
    expect(removed).toEqual({ withheld: 1 });
    expect(await readFile(file, 'utf8')).toBe(`${lines.slice(0, 4).join('\n')}\n`);
    const report = await applyCompliance(archive, tombstones, { match, country: 'de' });
    expect(report.removed).toEqual({ withheld: 1, 'user withheld': 1 });
    expect(await readFile(file, 'utf8')).toBe(`${lines.slice(0, 2).join('\n')}\n`);
  });

  it('rewrites uncompressed files without compression', async () => {
    const [first, second] = posts[0] ?? [];
    const file = path.join(archive, 'plain.jsonl');
    await writeFile(file, `${first?.raw}\n${second?.raw}\n`);
    await tombstones.record([ofPost('delete', first?.id ?? '')]);
    await applyCompliance(archive, tombstones, { match: name => name === 'plain.jsonl' });
    expect(await readFile(file, 'utf8')).toBe(`${second?.raw}\n`);
  });

  it('keeps stream notices between posts, and reports the line of any other record that is not a post', async () => {
    const [first, second] = posts[0] ?? [];
    const notices = [
      '{"limit":{"track":12}}',
      '{"delete":{"status":{"id":1,"id_str":"1","user_id":2}}}',
      '{"warning":{"code":"FALLING_BEHIND"}}',
      '{"disconnect":{"code":4}}',
      '{"scrub_geo":{"user_id":2,"up_to_status_id":1}}',
    ];
    const file = path.join(archive, 'stream.jsonl');
    const match = (name: string) => name === 'stream.jsonl';
    const kept = [notices[0], notices[1], second?.raw, ...notices.slice(2)].join('\n');
    await writeFile(file, `${first?.raw}\n${kept}\n`);
    await tombstones.record([ofPost('delete', first?.id ?? '')]);
    expect(await applyCompliance(archive, tombstones, { match })).toMatchObject({ posts: 2 });
    expect(await readFile(file, 'utf8')).toBe(`${kept}\n`);
    for (const lines of [2, 3_000]) {
      const before = `${second?.raw}\n\n`.repeat(lines);
      await writeFile(file, gzipSync(`${before}{"id":7}\n${second?.raw}\n`));
      const error = await applyCompliance(archive, tombstones, { match }).catch(e => e);
      expect(error).toBeInstanceOf(DataError);
      expect(error.position).toEqual({ origin: file, line: 2 * lines + 1 });
    }
  });

  it('leaves a damaged file unchanged and reports its name', async () => {
    const file = path.join(archive, '1.json.gz');
    const cut = (await readFile(file)).subarray(0, 500);
    await writeFile(file, cut);
    await tombstones.record([ofPost('delete', posts[1]?.[0]?.id ?? '')]);
    const error = await applyCompliance(archive, tombstones).catch(e => e);
    expect(error).toBeInstanceOf(DataError);
    expect(error.message).toContain('1.json.gz');
    expect(await readFile(file)).toEqual(cut);
    expect((await readdir(archive)).filter(name => name.endsWith('.tmp'))).toEqual([]);
  });

  const appliedToDamaged = async () => {
    const names = Array.from({ length: 40 }, (_, index) => `many/${100 + index}.jsonl`);
    const victim = posts[0]?.[0];
    const kept = `${posts[0]?.[1]?.raw}\n`;
    await mkdir(path.join(archive, 'many'));
    const lines = `${victim?.raw}\n${kept}`;
    for (const name of names) await writeFile(path.join(archive, name), lines);
    await writeFile(path.join(archive, names[1]!), '{"id":\n');
    await tombstones.record([ofPost('delete', victim?.id ?? '')]);
    const match = (name: string) => names.includes(name);
    const error = await applyCompliance(archive, tombstones, { match }).catch(e => e);
    const stored = () => Promise.all(names.map(name => readFile(path.join(archive, name), 'utf8')));
    const done = (await stored()).map(text => text === kept);
    return { names, lines, kept, match, error, stored, done };
  };

  it('rejects with the error of the damaged file among many files', async () => {
    const { error, names } = await appliedToDamaged();
    expect(error).toBeInstanceOf(DataError);
    expect(error.message).toContain(names[1]);
  });

  it('completes the rewrites already in progress when one file fails, and starts no other', async () => {
    const { done } = await appliedToDamaged();
    expect(done[0]).toBe(true);
    expect(done.slice(10)).not.toContain(true);
    expect(await readdir(path.join(archive, 'many'))).toHaveLength(40);
  });

  it('rewrites the remaining files in the run after an error', async () => {
    const { names, lines, kept, match, stored, done } = await appliedToDamaged();
    await writeFile(path.join(archive, names[1]!), lines);
    const report = await applyCompliance(archive, tombstones, { match });
    expect(report.rewritten).toHaveLength(40 - done.filter(Boolean).length);
    expect(new Set(await stored())).toEqual(new Set([kept]));
  });

  it('counts a post that only loses its quote as changed, not as removed', async () => {
    const [deleted, ...others] = posts[0]?.slice(0, 4).map(({ raw }) => String(raw)) ?? [];
    const quoting = others.map(post => post.replace('{', `{"quoted_status":${deleted},`));
    const file = path.join(archive, 'quotes.jsonl');
    await writeFile(file, [deleted, ...quoting, ''].join('\n'));
    await tombstones.record([ofPost('delete', posts[0]?.[0]?.id ?? '')]);
    const match = (name: string) => name === 'quotes.jsonl';
    expect(await applyCompliance(archive, tombstones, { match })).toEqual({
      files: 1,
      posts: 4,
      removed: { deleted: 1 },
      changed: 3,
      rewritten: [{ path: file, removed: 1, changed: 3 }],
    });
  });

  it('removes a hidden post of a large file even if its quoted post has no readable id', async () => {
    const [first, second] = posts[0] ?? [];
    const file = path.join(archive, 'large.jsonl');
    const broken = String(first?.raw).replace('{', '{"quoted_status":{"id":1},');
    const many = `${second?.raw}\n`.repeat(Math.ceil(9e6 / (second?.byteLength ?? 1)));
    await writeFile(file, `${many}${broken}\n${second?.raw}\n`);
    const match = (name: string) => name === 'large.jsonl';
    await expect(applyCompliance(archive, tombstones, { match })).rejects.toThrow(DataError);
    await tombstones.record([ofPost('delete', first?.id ?? '')]);
    const report = await applyCompliance(archive, tombstones, { match });
    expect(report.removed).toEqual({ deleted: 1 });
    expect((await readFile(file, 'utf8')) === `${many}${second?.raw}\n`).toBe(true);
  });

  it('does not touch the checkpoint of files() in the same folder', async () => {
    const target = path.join(archive, 'written');
    await files({ path: `${target}/all.jsonl.gz`, checkpoint: `${target}/checkpoint.json` })(
      (async function* () {
        yield* posts[0] ?? [];
      })(),
    );
    const checkpoint = await readFile(path.join(target, 'checkpoint.json'));
    await tombstones.record([ofPost('delete', posts[0]?.[0]?.id ?? '')]);
    const report = await applyCompliance(target, tombstones);
    expect(report).toMatchObject({ files: 1, removed: { deleted: 1 } });
    expect(await readFile(path.join(target, 'checkpoint.json'))).toEqual(checkpoint);
    await writeFile(path.join(target, 'notes.json'), '{\n  "version": 1\n}\n');
    await expect(applyCompliance(target, tombstones)).rejects.toThrow('notes.json');
  });

  it.skipIf(nodeZstd !== undefined)(
    'fails before it changes any file if there are zstd files and Node has no zstd',
    async () => {
      const victim = posts[1]?.[0];
      await tombstones.record([ofPost('delete', victim?.id ?? '')]);
      const before = await contents();
      const zstd = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, 0, 1, 0, 0]);
      for (const name of ['9.jsonl.zst', '9.jsonl']) {
        await writeFile(path.join(archive, name), zstd);
        const error = await applyCompliance(archive, tombstones).catch(e => e);
        expect(error, name).toBeInstanceOf(DataError);
        expect(error.message).toMatch(
          /from version 22\.15 on, and this is v\d.*newer Node.*zstd -d/,
        );
        expect(error.message).toContain('No file was changed');
        expect(error.position).toMatchObject({ origin: path.join(archive, name) });
        expect(await contents()).toEqual(before);
        await rm(path.join(archive, name));
      }
      const report = await applyCompliance(archive, tombstones);
      expect(report.rewritten).toHaveLength(1);
    },
  );

  it('reads uncompressed files with any name on every version of Node', async () => {
    const [first, second] = posts[0] ?? [];
    const file = path.join(archive, 'plain.jsonl.zst');
    await writeFile(file, `${first?.raw}\n${second?.raw}\n`);
    await tombstones.record([ofPost('delete', first?.id ?? '')]);
    await applyCompliance(archive, tombstones);
    expect(await readFile(file, 'utf8')).toBe(`${second?.raw}\n`);
  });

  it('continues after a crash that left temporary files', async () => {
    await writeFile(path.join(archive, '.1.json.gz.tmp'), 'half a file');
    await tombstones.record([ofPost('delete', posts[1]?.[0]?.id ?? '')]);
    const report = await applyCompliance(archive, tombstones);
    expect(report.removed).toEqual({ deleted: 1 });
    expect(await readdir(archive)).not.toContain('.1.json.gz.tmp');
  });

  it('syncs the folders of all files, even of files that a killed run rewrote', async () => {
    const probe = await open(archive, 'r');
    const prototype = Object.getPrototypeOf(probe) as typeof probe;
    const synced: bigint[] = [];
    const original = prototype.sync;
    const sync = vi.spyOn(prototype, 'sync').mockImplementation(async function (
      this: typeof probe,
    ) {
      synced.push((await this.stat({ bigint: true })).ino);
      return original.call(this);
    });
    await probe.close();
    try {
      await applyCompliance(archive, tombstones);
    } finally {
      sync.mockRestore();
    }
    for (const folder of [archive, path.join(archive, 'day')])
      expect(synced).toContain((await stat(folder, { bigint: true })).ino);
  });

  it('rejects a function `match` that returns a promise before it changes any file', async () => {
    await tombstones.record([ofPost('delete', posts[0]?.[0]?.id ?? '')]);
    const before = await contents();
    const match = unchecked<() => boolean>(async () => false);
    await expect(applyCompliance(archive, tombstones, { match })).rejects.toMatchObject({
      code: 'ERR_OPTION',
      option: 'match',
      message: 'applyCompliance: `match` must return true or false, got a promise',
    });
    expect(await contents()).toEqual(before);
  });

  it.skipIf(process.platform === 'win32')(
    'rejects a file that was replaced by a pipe after the listing, without blocking',
    async () => {
      const file = path.join(archive, '1.json.gz');
      const match = (name: string) => {
        if (name !== '1.json.gz') return false;
        rmSync(file);
        execFileSync('mkfifo', [file]);
        return true;
      };
      const error = await applyCompliance(archive, tombstones, { match }).catch(e => e);
      expect(error).toBeInstanceOf(StorageError);
      expect(error.message).toContain(`${file} is not a regular file`);
    },
  );

  it('removes the locks and copies of killed runs even if no file needs rewriting', async () => {
    const child = spawn(process.execPath, ['-e', '']);
    await once(child, 'close');
    const holder = { ...thisProcess(), pid: child.pid, started: undefined, token: 'killed' };
    const left = ['.1.json.gz.lock', '.1.json.gz.tmp', 'day/.0.json.gz.lock'];
    for (const name of left) await writeFile(path.join(archive, name), JSON.stringify(holder));
    expect(await applyCompliance(archive, tombstones)).toMatchObject({ rewritten: [] });
    const names = await readdir(archive, { recursive: true });
    expect(names.filter(name => path.basename(name).startsWith('.'))).toEqual([]);
  });

  it("keeps another run's lock on a file that needs no change", async () => {
    const other = await takeLock(path.join(archive, '.1.json.gz.lock'));
    expect(await applyCompliance(archive, tombstones)).toMatchObject({ files: 6, rewritten: [] });
    await other.check();
    await other.release();
  });

  it('throws an OptionError for wrong arguments', async () => {
    await expect(applyCompliance(`${archive}/none`, tombstones)).rejects.toThrow(StorageError);
    await expect(applyCompliance(archive, unchecked('tombstones'))).rejects.toThrow(OptionError);
    await expect(applyCompliance(unchecked(undefined), tombstones)).rejects.toThrow(OptionError);
    await expect(applyCompliance(archive, tombstones, { match: unchecked('x') })).rejects.toThrow(
      OptionError,
    );
    const aborted = AbortSignal.abort(new Error('enough'));
    await expect(applyCompliance(archive, tombstones, { signal: aborted })).rejects.toThrow(
      'enough',
    );
  });
});
