import { appendFile, mkdir } from 'node:fs/promises';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { DataFile, JobRecord } from '../../../src/service/jobs/job-record.js';
import { MOUNT, storedFiles } from '../../storage/mounted-disk.js';
import { unchecked } from '../../unchecked.js';
import { loadModule } from '../load-library.js';
import type { KeptFiles } from './kept-files.js';

const STATE = `${MOUNT}/deep/state`;
const START = Date.UTC(2024, 0, 1);
const CLOCK = unchecked({ now: () => START });

export async function keptRules(library: URL): Promise<KeptFiles> {
  const { StreamRules } = await loadModule(library, 'service/replay/stream-rules');
  const rule = (value: string) => ({ value, tag: null });
  return {
    name: 'rules',
    files: [/^deep\/state\/stream-rules\/rules\.json$/],
    start() {
      const rules = new StreamRules(STATE, CLOCK);
      return {
        steps: [
          () => rules.add([rule('coffee')]),
          () => rules.add([rule('tea'), rule('cocoa')]),
          () => rules.delete({ rules: [rule('coffee')] }),
        ],
        end: () => rules.close(),
      };
    },
    async read() {
      const rules = new StreamRules(STATE, CLOCK);
      await rules.open();
      const ids = new Set(rules.all().map(({ id }) => id));
      return { values: rules.all().map(({ value }) => value), distinct: ids.size };
    },
  };
}

export async function keptGrants(library: URL): Promise<KeptFiles> {
  const { Grants } = await loadModule(library, 'service/users/grants');
  const user = (id: string) => ({ id, handle: `user${id}`, name: `User ${id}` });
  return {
    name: 'grants',
    files: [/^deep\/state\/oauth\/grants\.json$/],
    start() {
      const grants = new Grants(STATE);
      return {
        steps: [
          () => grants.grant(user('1'), 'app', START),
          () => grants.grant(user('2'), 'app', START),
          () => grants.revoke(user('1'), 'app'),
        ],
        end: () => grants.close(),
      };
    },
    async read() {
      const grants = new Grants(STATE);
      await grants.open();
      // Tokens are random. Therefore, this compares only whether the grant is found by its token.
      return grants.all().map(({ user: { id }, token }) => [id, grants.find(token)?.key]);
    },
  };
}

export async function keptNonces(library: URL): Promise<KeptFiles> {
  const { NonceFile, Nonces } = await loadModule(library, 'service/users/nonces');
  return {
    name: 'nonces',
    files: [/^deep\/state\/oauth\/nonces\.jsonl$/],
    start() {
      const nonces = new Nonces();
      const file = new NonceFile(STATE);
      const use = (nonce: string) => async () => {
        const used = nonces.use('app', START / 1000, nonce) ?? ([START / 1000, nonce] as const);
        await file.add(used, nonces);
      };
      return { steps: ['a'.repeat(120), 'b', 'c'].map(use) };
    },
    async read() {
      const used = await new NonceFile(STATE).load();
      return new Set(used.map(([, digest]) => digest)).size;
    },
    // A request that has failed is not sent again, because its nonce counts as used.
    endsAtFailure: true,
  };
}

export async function keptJobs(library: URL): Promise<KeptFiles> {
  const { JobStore } = await loadModule(library, 'service/jobs/job-store');
  const { generateFiles } = await loadModule(library, 'service/jobs/generate-files');
  const { Activity } = await loadModule(library, 'post/activity');
  const SEGMENT = 600_000;
  const segments = [0, 1, 2].map(index => START + index * SEGMENT);
  const job = (status: JobRecord['status']): JobRecord => ({
    uuid: 'abc1234567',
    number: 1,
    title: 'a job',
    format: 'original',
    from: START,
    to: START + 3 * SEGMENT,
    status,
    since: START,
    rules: [{ value: 'coffee', tag: null, id: '9007199254740993' }],
    requestedBy: 'me',
    requestedAt: START,
  });
  const post = (id: number) =>
    new Activity(
      Buffer.from(
        `{"created_at":"Mon Jan 01 00:00:00 +0000 2024","id":${id},"id_str":"${id}","text":"coffee ${id}","user":{"id":1,"id_str":"1","screen_name":"ada","name":"Ada"}}`,
      ),
    );
  const archive = {
    async *scan({ from }: { from: number }) {
      for (const [index, segment] of segments.entries())
        if (segment >= from)
          yield { segment, posts: [{ at: segment, id: `${index}`, activity: post(index) }] };
    },
  };
  const load = async (store: InstanceType<typeof JobStore>) => {
    const [found] = await store.load();
    return found;
  };
  return {
    name: 'jobs',
    files: [
      /^deep\/state\/jobs\/abc1234567\/job\.json$/,
      /^deep\/state\/jobs\/abc1234567\/files\.jsonl$/,
      /^deep\/state\/jobs\/abc1234567\/data\/2024\/01\/01\/00\/[012]0_activities\.json\.gz$/,
    ],
    async start() {
      const store = new JobStore(STATE);
      const generate = async () => {
        const files: DataFile[] = [...((await load(store))?.files ?? [])];
        await generateFiles(job('running'), {
          archive: unchecked(archive),
          store,
          files,
          infoLine: true,
          signal: new AbortController().signal,
          onWritten() {},
          onProgress() {},
        });
      };
      return {
        steps: [
          () => store.save(job('opened')),
          () => store.save(job('accepted')),
          async () => {
            await generate();
            await store.save(job('delivered'));
          },
        ],
        end: () => store.close(),
      };
    },
    async read() {
      const store = new JobStore(STATE);
      try {
        const found = await load(store);
        const stored = storedFiles();
        for (const file of found?.files ?? []) {
          const path = await store.dataFile(job('running'), file.segment);
          const bytes = stored.get(path.slice(MOUNT.length + 1));
          if (bytes?.length !== file.bytes) throw new Error(`${path} is not whole`);
          gunzipSync(bytes);
        }
        return { status: found?.job.status, files: found?.files.map(({ segment }) => segment) };
      } finally {
        await store.close();
      }
    },
    isBetween: (found, before, after) => {
      const states = [before, after] as readonly { status: string; files: number[] }[];
      const { status, files = [] } = found as { status: string; files?: number[] };
      return (
        status === 'accepted' &&
        states[0]?.status === status &&
        String(files) === String(segments.slice(0, files.length))
      );
    },
  };
}

export async function keptIndex(library: URL): Promise<KeptFiles> {
  const { openFolderArchive } = await loadModule(library, 'service/archive/folder/folder-archive');
  const { samplePosts } = await loadModule(library, 'service/sample/sample-posts');
  const folder = `${MOUNT}/archive`;
  const segment = (minute: number) =>
    samplePosts(START + minute * 60_000, { postsPerMinute: 4 })
      .map(({ raw }) => `${raw}\n`)
      .join('');
  const posts = async () => {
    const archive = await openFolderArchive(folder);
    const ids: string[] = [];
    const window = { from: START, to: START + 86_400_000 };
    for await (const { posts: some } of archive.scan(window, {}))
      ids.push(...some.map(({ id }) => id));
    await archive.close?.();
    return ids;
  };
  return {
    name: 'index',
    files: [
      /^archive\/\d\.json(\.gz|l)$/,
      /^archive\/\.millrace-index\/[0-9a-f]{24}\/index\.json$/,
      /^archive\/\.millrace-index\/[0-9a-f]{24}\/original-\d{12}\.block$/,
    ],
    async prepare() {
      await mkdir(folder);
      await appendFile(`${folder}/0.json.gz`, gzipSync(segment(0)));
      await appendFile(`${folder}/1.jsonl`, segment(10));
    },
    start: () => ({ steps: [posts] }),
    read: posts,
  };
}
