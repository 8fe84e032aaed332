import { appendFile, mkdir, mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { jobServer, servedFiles, UUID } from '../../jobs/job-server.js';
import { LOGIN } from '../../login.js';
import { MOUNT, storedFiles } from '../../storage/mounted-disk.js';
import { loadModule } from '../load-library.js';
import type { KeptFiles } from './kept-files.js';

export async function keptTokens(library: URL): Promise<KeptFiles> {
  const { prepareTokenFile, readToken, writeToken } = await loadModule(library, 'users/sign-in');
  const { Secret } = await loadModule(library, 'base/secret');
  const file = `${MOUNT}/deep/tokens/user.json`;
  const owner = { consumerKey: 'key', oauthUrl: new URL('https://api.example.com/') };
  const signIn = (name: string) => async () => {
    await prepareTokenFile(file);
    await writeToken(file, owner, {
      token: new Secret(`token of ${name}`),
      secret: new Secret(`secret of ${name}`),
      userId: '9007199254740993',
      screenName: name,
    });
  };
  return {
    name: 'tokens',
    files: [/^deep\/tokens\/user\.json$/],
    start: () => ({ steps: [signIn('ada'), signIn('grace')] }),
    async read() {
      const token = await readToken(file, owner);
      return token && { ...token, token: token.token.reveal(), secret: token.secret.reveal() };
    },
  };
}

export async function keptConnects(library: URL): Promise<KeptFiles> {
  const { ConnectLog, replayFolder } = await loadModule(library, 'replay/connect-log');
  const folder = `${MOUNT}/deep/replays`;
  const START = Date.UTC(2024, 0, 1);
  const log = () => new ConnectLog(folder, 'acme');
  const add = (minute: number) => async () => {
    await replayFolder(folder);
    await log().add(START + minute * 60_000);
  };
  return {
    name: 'connects',
    files: [/^deep\/replays\/connects-[0-9a-f]{16}\.log$/],
    start: () => ({ steps: [1, 2, 3].map(add) }),
    // Ignores duplicates, because a connection that is counted twice only causes a longer wait. If
    // a connection were missing, the next one would exceed the limit.
    read: async () => [...new Set(await log().read())],
  };
}

export async function keptDownload(library: URL): Promise<KeptFiles & { close(): Promise<void> }> {
  const { downloadJob } = await loadModule(library, 'jobs/download-job');
  const { foldersVerdict } = await loadModule(library, 'jobs/download-folder');
  const { account } = await loadModule(library, 'http/account');
  const served = await jobServer({ files: servedFiles(3) });
  const folder = `${MOUNT}/deep/archive`;
  const client = account(
    {
      historicalUrl: served.server.url,
      account: 'acme',
      publisher: 'twitter',
      ...LOGIN,
      limits: { jobReads: [], jobCreation: [] },
      retry: { firstWaitMs: 1 },
    },
    {},
  );
  const whole = new Map(
    served.files.map(({ segment, gzip }) => [
      `${segment.slice(0, 8)}/${segment.slice(8)}.json.gz`,
      gzip,
    ]),
  );
  return {
    name: 'download',
    files: [
      /^deep\/archive\/20240101\/\d{4}\.json\.gz$/,
      /^deep\/archive\/\.millrace-job\.json$/,
      /^deep\/archive\/\.millrace-download\.json$/,
    ],
    start: () => ({
      steps: [async () => downloadJob(client, UUID, { folder, concurrency: 1 })],
    }),
    async read() {
      const names: string[] = [];
      for (const [stored, bytes] of storedFiles()) {
        const [, name] = /^deep\/archive\/(\d{8}\/\d{4}\.json\.gz)$/.exec(stored) ?? [];
        if (name === undefined) continue;
        if (whole.get(name)?.equals(bytes) !== true) throw new Error(`${name} is not whole`);
        names.push(name);
      }
      // Without this file, which describes the download, there is no verdict.
      const verdict = storedFiles().has('deep/archive/.millrace-download.json')
        ? await foldersVerdict([folder])
        : undefined;
      return { names: names.toSorted(), complete: verdict?.exitCode === 0 };
    },
    isBetween: (found, _before, after) => {
      const { names, complete } = found as { names: string[]; complete: boolean };
      return !complete || names.length === (after as { names: string[] }).names.length;
    },
    close: () => served.stop(),
  };
}

export async function keptRewrites(library: URL): Promise<KeptFiles & { close(): Promise<void> }> {
  const { applyCompliance } = await loadModule(library, 'compliance/apply-compliance');
  const { openTombstones } = await loadModule(library, 'compliance/tombstones');
  const { parseComplianceEvent } = await loadModule(library, 'post/compliance-event');
  // LMDB maps its files into memory, which the simulated disk cannot do, so its files are on the
  // real disk.
  const real = await mkdtemp(path.join(os.tmpdir(), 'millrace-disks-'));
  const tombstones = await openTombstones(path.join(real, 'tombstones'));
  const deleted = (id: string) =>
    parseComplianceEvent(
      Buffer.from(`{"delete":{"status":{"id_str":"${id}","user_id_str":"1"},"timestamp_ms":"1"}}`),
    );
  await tombstones.record(['102', '201'].map(deleted));
  const archive = `${MOUNT}/archive`;
  const postOf = (id: number) =>
    `{"id":${id},"id_str":"${id}","text":"post ${id}","created_at":"Mon Jan 01 00:00:00 +0000 2024","user":{"id":1,"id_str":"1","screen_name":"ada"}}`;
  const lines = (first: number) =>
    [1, 2, 3].map(n => `${postOf(first + n)}\n`).join('') +
    '{"info":{"message":"Replay Request Completed","sent":"2024-01-02T00:00:00+00:00","activity_count":3}}\n';
  const stored: Readonly<Record<string, Buffer>> = {
    'a.json.gz': gzipSync(lines(100)),
    'b.jsonl': Buffer.from(lines(200)),
    'c.json.gz': gzipSync(lines(300)),
  };
  return {
    name: 'rewrites',
    files: [/^archive\/[abc]\.json(\.gz|l)$/],
    async prepare() {
      await mkdir(archive);
      for (const [name, bytes] of Object.entries(stored))
        await appendFile(path.join(archive, name), bytes);
    },
    start: () => ({ steps: [() => applyCompliance(archive, tombstones)] }),
    async read() {
      const found: Record<string, string[]> = {};
      for (const name of Object.keys(stored)) {
        const bytes = storedFiles().get(`archive/${name}`) as Buffer;
        const text = (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString();
        found[name] = [...text.matchAll(/"id_str":"(\d{3})"|"activity_count":(\d)/g)].map(
          ([, id, count]) => id ?? `count ${count}`,
        );
      }
      return found;
    },
    isBetween: (found, before, after) =>
      Object.entries(found as object).every(([name, ids]) =>
        [before, after].some(
          state => String((state as Record<string, string[]>)[name]) === String(ids),
        ),
      ),
    async close() {
      await tombstones.close();
      await rm(real, { recursive: true, force: true });
    },
  };
}
