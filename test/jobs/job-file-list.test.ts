import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DataError, JobError } from '../../src/base/errors.js';
import type { AccountOptions } from '../../src/http/account.js';
import { readJobFiles, readSuspectMinutes } from '../../src/jobs/job-file-list.js';
import { json, ScriptedServer, status } from '../http/scripted-server.js';
import { jobAccount } from './job-account.js';
import { type JobServer, jobServer, servedFiles, UUID } from './job-server.js';

let server: ScriptedServer;
beforeEach(async () => {
  server = await new ScriptedServer().start();
});
afterEach(() => server.stop());

const acme = (options?: AccountOptions) => jobAccount(server, options);

describe('the list of suspect minutes of a job', () => {
  it.each([
    ['an object', '{"suspectMinutes":["202401010006","202401010005","202401010005"]}'],
    ['a list', '["2024-01-01T00:05:00Z",202401010006]'],
    ['lines', '202401010005\r\n202401010006\n'],
  ])('is parsed from %s', async (_, body) => {
    server.script.push(response => response.end(body));
    const minutes = await readSuspectMinutes(acme(), `${server.url}/suspect`);
    expect(minutes).toEqual(['202401010005', '202401010006']);
    expect(server.received[0]?.headers.authorization).toMatch(/^Basic /);
  });

  it('may be missing, but causes a DataError if it contains something other than dates', async () => {
    server.script.push(status(404), json({ nothing: ['here'] }));
    expect(await readSuspectMinutes(acme(), `${server.url}/suspect`)).toEqual([]);
    await expect(readSuspectMinutes(acme(), `${server.url}/suspect`)).rejects.toBeInstanceOf(
      DataError,
    );
  });

  it('causes an error that hides the signature of its address if it contains no dates', async () => {
    server.script.push(json({ nothing: ['here'] }));
    const minutes = readSuspectMinutes(acme(), `${server.url}/suspect?Signature=abc`);
    await expect(minutes).rejects.toMatchObject({
      position: { origin: `${server.url}/suspect?...` },
      message: expect.not.stringContaining('abc'),
    });
  });
});

describe('the files of a job', () => {
  let served: JobServer;
  beforeEach(async () => {
    served = await jobServer({ files: servedFiles(4) });
  });
  afterEach(() => served.stop());
  const { signal } = new AbortController();

  it('are named by their time segments, in order of time', async () => {
    const { files, basis } = await readJobFiles(served.account(), UUID, undefined, signal);
    const segments = served.files.map(({ segment }) => segment).toSorted();
    expect(files.map(({ name }) => name)).toEqual(segments);
    expect(files.map(({ path }) => path)).toEqual(
      segments.map(name => `${name.slice(0, 8)}/${name.slice(8)}.json.gz`),
    );
    expect(basis.listed).toBe(4);
  });

  it('are divided among the shards of a download', async () => {
    const all = await readJobFiles(served.account(), UUID, undefined, signal);
    const parts = await Promise.all(
      [1, 2].map(index => readJobFiles(served.account(), UUID, { index, of: 2 }, signal)),
    );
    expect(parts.flatMap(({ files }) => files.map(({ name }) => name)).toSorted()).toEqual(
      all.files.map(({ name }) => name),
    );
    for (const [at, { part, files }] of parts.entries())
      expect(part).toEqual({ shard: { index: at + 1, of: 2 }, files: files.length });
  });

  it('cannot be listed if the job is unknown or has expired', async () => {
    const read = readJobFiles(served.account(), 'another', undefined, signal);
    await expect(read).rejects.toBeInstanceOf(JobError);
    await expect(read).rejects.toThrow('does not exist: it is unknown, or has expired');
  });
});
