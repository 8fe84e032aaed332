import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { constants, createGzip } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { IncompleteError } from '../../../src/base/errors.js';
import { floorTo, HOUR, MINUTE } from '../../../src/base/time.js';
import { compliance } from '../../../src/compliance/compliance.js';
import type { Flow } from '../../../src/flow/flow.js';
import { pipeline } from '../../../src/flow/pipeline.js';
import { jobFiles } from '../../../src/jobs/job-files.js';
import { activities } from '../../../src/operators/activities.js';
import { gunzip } from '../../../src/operators/gunzip.js';
import { jsonLines } from '../../../src/operators/json-lines.js';
import type { Activity } from '../../../src/post/activity.js';
import { replay } from '../../../src/replay/replay.js';
import { search } from '../../../src/search/search.js';
import { files } from '../../../src/sinks/files.js';
import { begin, COMPLETED, info, stream } from '../../http/live-wire.js';
import { scriptedAccount } from '../../http/scripted-account.js';
import { json, ScriptedServer, status } from '../../http/scripted-server.js';
import { jobServer, postLine, servedFile, UUID } from '../../jobs/job-server.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { type Line, linesOf, post } from '../damaged.js';

let server: ScriptedServer;
let folder: string;

beforeEach(async () => {
  server = await new ScriptedServer().start();
  folder = await temporaryFolder();
});
afterEach(() => server.stop());

const acme = () => scriptedAccount(server, { serviceTime: () => Date.now() });

const to = (name: string) => path.join(folder, name);

async function kept(name = 'damaged.jsonl'): Promise<Line[]> {
  return linesOf(await readFile(to(name), 'utf8'));
}

const textsOf = (lines: readonly Line[]) => lines.map(({ text }) => text);

function run(source: Flow<Activity>) {
  return pipeline(
    source,
    files({
      path: to('out.jsonl'),
      checkpoint: to('run.json'),
      damaged: to('damaged.jsonl'),
      commitIntervalMs: 0,
    }),
  );
}

describe('a sink with the option `damaged`', () => {
  const query = { query: 'snow', product: '30day' } as const;
  const result = (id: number) => ({ id, id_str: String(id), text: 'x' });

  it('keeps each damaged result of a search once, with its request, over failing runs', async () => {
    server.script.push(
      json({ results: [result(1), { text: 'no id' }, null], next: 'second' }),
      status(401),
    );
    const flow = () => search(acme(), query);
    await expect(run(flow())).rejects.toBeInstanceOf(IncompleteError);
    server.script.push(json({ results: [null, result(2)] }));
    expect(await run(flow())).toMatchObject({ posts: 2, damaged: 3 });
    const lines = await kept();
    expect(textsOf(lines)).toEqual(['{"text":"no id"}', 'null', 'null']);
    const request = { query: 'snow', maxResults: 500 };
    expect(lines[0]).toMatchObject({ origin: expect.stringContaining(server.url), record: 2 });
    expect(lines[0]).toMatchObject({ request, error: { name: 'DataError' } });
    expect(lines[2]).toMatchObject({ request: { ...request, next: 'second' }, record: 1 });
    expect(JSON.stringify(lines)).not.toContain('secret-password');
  });

  it('keeps the damaged results of a search with rules', async () => {
    const rainy = { ...result(1), created_at: 'Wed Oct 10 20:19:24 +0000 2018', text: 'rain' };
    server.otherwise = json({ results: [rainy, 'x'] });
    const rules = [{ value: 'snow' }, { value: 'rain' }];
    const flow = search(acme(), { product: '30day', rules });
    expect(await run(flow)).toMatchObject({ posts: 1, damaged: 1 });
    expect(textsOf(await kept())).toEqual(['"x"']);
  });

  it('keeps each damaged record of a replay once over failing runs', async () => {
    const from = floorTo(MINUTE, Date.now() - 3 * HOUR);
    const flow = () =>
      replay(acme(), {
        streamType: 'rulestream',
        fromDate: new Date(from),
        toDate: new Date(from + 30 * MINUTE),
        folder,
      });
    server.script.push(
      stream([post(1), '{"id":', '{"text":"no id"}', info(COMPLETED, 3)]),
      status(401),
    );
    await expect(run(flow())).rejects.toThrow('401');
    server.otherwise = stream([post(2), '{"id":', info(COMPLETED, 2)]);
    expect(await run(flow())).toMatchObject({ posts: 2, damaged: 3 });
    const lines = await kept();
    expect(textsOf(lines)).toEqual(['{"id":', '{"text":"no id"}', '{"id":']);
    // A line number within one connection has no meaning in another connection, so only the origin
    // is reported.
    expect(lines[0]).toMatchObject({ origin: expect.stringContaining(server.url) });
    expect(Object.keys(lines[0] as Line)).toEqual(['origin', 'error', 'text']);
  });

  it('keeps the damaged lines of job files', async () => {
    const lines = [postLine(Date.UTC(2024, 0, 1), 1), '{"text":"no id"}'];
    const served = await jobServer({ files: [servedFile('202401010000', lines)] });
    try {
      const flow = activities()(jsonLines()(gunzip()(jobFiles(served.account(), UUID))));
      expect(await run(flow)).toMatchObject({ posts: 1, damaged: 1 });
    } finally {
      await served.stop();
    }
    const [line] = await kept();
    expect(line).toMatchObject({ record: 2, text: '{"text":"no id"}' });
    expect(line?.origin).toMatch(/2024/);
  });

  it('keeps the damaged events of a compliance stream', async () => {
    server.otherwise = response => {
      begin(response);
      const gzip = createGzip();
      gzip.pipe(response);
      gzip.write('not JSON\r\n{"user_delete":{"id":}}\r\n');
      gzip.flush(constants.Z_SYNC_FLUSH);
    };
    const ended = new AbortController();
    const reading = pipeline(
      compliance(acme(), { backfill: false, onGap() {} }),
      files({ path: to('out.jsonl'), damaged: to('damaged.jsonl') }),
      { signal: ended.signal },
    );
    reading.catch(() => {});
    let lines: Line[] = [];
    while (lines.length < 2) {
      await sleep(20);
      lines = await kept('damaged.jsonl.part').catch(() => []);
    }
    ended.abort(new Error('enough'));
    await expect(reading).rejects.toThrow('enough');
    expect(textsOf(lines)).toEqual(['not JSON', '{"user_delete":{"id":}}']);
  });
});
