import { describe, expectTypeOf, it } from 'vitest';
import { Flow } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { tables } from '../../src/index.js';
import { map } from '../../src/operators/map.js';
import type { Activity } from '../../src/post/activity.js';
import { type Committed, committed } from '../../src/sinks/committed.js';

const posts = new Flow<Activity>(async function* () {});
interface Client {
  query(sql: string, values: readonly unknown[]): Promise<readonly { saved: string }[]>;
}
declare const transaction: (work: (client: Client) => Promise<void>) => Promise<void>;

describe('the types of committed()', () => {
  it('follow from the items of the previous stage and from the client of the transaction', () => {
    const run = () =>
      pipeline(
        posts,
        map(tables.toRow(['id', 'lang'])),
        committed({
          transaction: (work: (client: Client) => Promise<void>) => transaction(work),
          load: async client => (await client.query('SELECT', []))[0]?.saved,
          save: (text, client) => client.query('UPDATE', [text]),
          write: (rows: readonly { readonly id: string | null }[], client, { token, again }) => {
            expectTypeOf(client).toEqualTypeOf<Client>();
            expectTypeOf(token).toEqualTypeOf<string>();
            expectTypeOf(again).toEqualTypeOf<boolean>();
            return client.query('INSERT', [rows[0]?.id]);
          },
        }),
      );
    expectTypeOf(run).returns.resolves.toEqualTypeOf<Committed>();
  });

  it('pass blocks to `write` if `encode` is set, and items of the previous stage to `encode`', () => {
    const calls = { load: () => undefined, save: () => {} };
    const run = () =>
      pipeline(
        posts,
        committed({
          ...calls,
          transaction: (work: (client: Client) => Promise<void>) => transaction(work),
          encode: tables.toCsv(['id', 'text']),
          write: (blocks, client) => {
            expectTypeOf(blocks).toEqualTypeOf<readonly Buffer[]>();
            expectTypeOf(client).toEqualTypeOf<Client>();
          },
        }),
      );
    expectTypeOf(run).returns.resolves.toEqualTypeOf<Committed>();
    const ofItems = () =>
      pipeline(
        posts,
        committed({
          ...calls,
          encode: post => {
            expectTypeOf(post).toEqualTypeOf<Activity>();
            return post.raw;
          },
          write: () => {},
        }),
      );
    expectTypeOf(ofItems).returns.resolves.toEqualTypeOf<Committed>();
  });

  it('do not allow `write` to get items if `encode` is set, or `encode` to get other items or to return no bytes', () => {
    const calls = { load: () => undefined, save: () => {}, write: () => {} };
    const write = (_: readonly Activity[]) => {};
    // @ts-expect-error With `encode`, `write` gets blocks.
    const items = () => committed({ ...calls, encode: tables.toCsv(), write });
    const others = () =>
      // @ts-expect-error The posts are no counts.
      pipeline(posts, committed({ ...calls, encode: tables.toCsv(tables.counts) }));
    // @ts-expect-error A number is no row.
    const noBytes = () => committed({ ...calls, encode: (post: Activity) => post.id.length });
    // @ts-expect-error Threads only encode.
    const threads = () => committed<Activity>({ ...calls, workers: 2 });
    for (const call of [items, others, noBytes, threads]) expectTypeOf(call).toBeFunction();
  });

  it('do not allow rows of another type, or a saved state that is not a string', () => {
    const calls = { load: () => undefined, save: () => {} };
    const wrong = () =>
      // @ts-expect-error The posts are no numbers.
      pipeline(posts, committed({ ...calls, write: (_: readonly number[]) => {} }));
    const noText = () =>
      // @ts-expect-error What was saved is a text.
      committed<Activity>({ ...calls, write() {}, load: () => 5 });
    expectTypeOf(wrong).toBeFunction();
    expectTypeOf(noText).toBeFunction();
  });
});
