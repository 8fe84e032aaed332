import { writeFile } from 'node:fs/promises';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { transform } from 'esbuild';
import { describe, expect, it } from 'vitest';
import { environmentOf } from '../../src/service/account-variables.js';
import { createService } from '../../src/service/index.js';
import { outputOf, spawn } from '../child-processes.js';
import { compiled } from '../compiled.js';
import { blocksOf, pageNamed, root } from '../pages.js';
import { isNightly } from '../suite.js';
import { temporaryFolder } from '../temporary-folder.js';

type Mishap = 'request lost' | 'answer lost' | 'killed before' | 'killed after';

/**
 * A stand-in for the parts of the ClickHouse HTTP interface that the recipe uses: two tables and
 * deduplication tokens.
 */
class ClickHouseStandIn {
  readonly posts: { readonly id: string }[] = [];
  saved: { readonly saved: string; readonly version: number } | undefined;
  readonly kinds: string[] = [];
  onKill = () => {};
  readonly #tokens = new Set<string>();
  readonly #mishaps: Map<number, Mishap>;
  readonly #server: http.Server;
  #calls = 0;

  constructor(mishaps: Map<number, Mishap>) {
    this.#mishaps = mishaps;
    this.#server = http.createServer(async (request, response) => {
      const body = await text(request);
      const { searchParams } = new URL(request.url ?? '', 'http://localhost');
      const mishap = this.#mishaps.get(++this.#calls);
      if (mishap === 'killed before') this.onKill();
      if (mishap === 'request lost' || mishap === 'killed before')
        return void request.socket.destroy();
      const answer = this.#answer(
        searchParams.get('query') ?? '',
        body,
        searchParams.get('insert_deduplication_token'),
      );
      if (mishap === 'killed after') this.onKill();
      if (mishap === undefined) response.end(answer);
      else request.socket.destroy();
    });
  }

  async start(): Promise<string> {
    await new Promise<void>(resolve => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  #answer(sql: string, body: string, token: string | null): string {
    const kind = /^INSERT INTO (\w+)|^(SELECT|CREATE)/.exec(sql)?.slice(1).find(Boolean) ?? '';
    this.kinds.push(kind);
    if (kind === 'SELECT')
      return JSON.stringify({ data: this.saved === undefined ? [] : [this.saved] });
    if (kind === 'checkpoints') {
      const row = JSON.parse(body) as { readonly saved: string; readonly version: number };
      if (row.version >= (this.saved?.version ?? 0)) this.saved = row;
    }
    if (kind === 'posts' && token !== null && !this.#tokens.has(token)) {
      this.#tokens.add(token);
      this.posts.push(...body.split('\n').map(line => JSON.parse(line) as { readonly id: string }));
    }
    return '';
  }
}

describe('posts written to a ClickHouse stand-in', () => {
  const MISHAPS: Mishap[] = ['request lost', 'answer lost', 'killed before', 'killed after'];
  // The script first makes two calls to create tables, and then calls `load` and `save`. For each
  // range it calls `load`, `save`, `write` and `save`.
  const cells = Array.from({ length: 12 }, (_, index) => index + 3).flatMap(call =>
    MISHAPS.map(mishap => [mishap, call] as const),
  );
  const chosen = cells.filter(([mishap, call]) =>
    isNightly
      ? // The first calls of a run are not retried.
        call > 4 || mishap.startsWith('killed')
      : call === 7,
  );

  it.each(chosen)(
    'are stored exactly once despite the mishap "%s" at call %i',
    async (mishap, call) => {
      await using service = createService({ limits: 'relaxed' });
      service.clock.freeze();
      const target = new ClickHouseStandIn(new Map([[call, mishap]]));
      const env = {
        ...process.env,
        ...environmentOf(await service.start()),
        CLICKHOUSE_URL: await target.start(),
      };
      const [block = ''] = blocksOf(pageNamed('examples/into-databases.md'), 'ts');
      const folder = await temporaryFolder();
      const script = compiled(path.join(root, 'examples', `${path.basename(folder)}.ts`));
      const { code } = await transform(block, { loader: 'ts', target: 'node20.18' });
      await writeFile(script, code);
      const start = () => {
        const child = spawn(process.execPath, [script], { cwd: folder, env });
        target.onKill = () => child.kill('SIGKILL');
        return outputOf(child);
      };
      try {
        const first = await start();
        expect(first.signal).toBe(mishap.startsWith('killed') ? 'SIGKILL' : null);
        const { stdout, stderr } = first.signal === null ? first : await start();
        expect({ stdout, stderr }).toEqual({ stdout: '{ rows: 2000 }\n', stderr: '' });
        expect(new Set(target.posts.map(({ id }) => id)).size).toBe(2_000);
        expect(target.posts.length).toBe(2_000);
      } finally {
        target.stop();
      }
    },
  );
});
