import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HEADERS } from '../../src/jetstream/message.js';
import { readAgain } from '../../src/jetstream/read-again.js';
import { shownPosition } from '../../src/jetstream/subject-positions.js';

type Messages = Awaited<ReturnType<typeof readAgain>>;

/** Messages of one publisher and subject, by their positions. */
function replica(positions: readonly number[], publisher = 'one'): Messages {
  return positions.map(position => {
    const headers = new Map<string, string>([
      [HEADERS.publisher, publisher],
      [HEADERS.subjectPosition, shownPosition({ position, acknowledged: 0, series: 1 })],
    ]);
    return {
      ...{ subject: 'posts.0', seq: position },
      headers: { get: (name: string) => headers.get(name) ?? '' },
    };
  }) as unknown as Messages;
}

describe('messages that one replica has lost', () => {
  it('are found, each once, where another one has them', async () => {
    const positions = fc.uniqueArray(fc.nat(30));
    await fc.assert(
      fc.asyncProperty(
        fc.array(positions, { minLength: 1, maxLength: 3 }),
        fc.nat(20),
        fc.nat(8),
        async (replicas, from, more) => {
          const lost = [{ publisher: 'one', subject: 'posts.0', from, to: from + more }];
          let reads = 0;
          const found = await readAgain(lost, replicas.length, async function* () {
            yield { messages: replica([from, from + 1], 'another') };
            yield { messages: replica(replicas[reads++ % replicas.length] ?? []) };
          });
          const expected = new Set(replicas.flat().filter(p => p >= from && p <= from + more));
          expect(found.map(({ seq }) => seq).toSorted()).toEqual([...expected].toSorted());
          // It ends when it has all.
          if (expected.size === more + 1) expect(reads).toBeLessThanOrEqual(replicas.length);
        },
      ),
    );
  });

  it('are found among messages whose headers are damaged, which are reported in their turn', async () => {
    const lost = [{ publisher: 'one', subject: 'posts.0', from: 5, to: 5 }];
    const damaged = { subject: 'posts.0', seq: 4, headers: { get: () => 'one' } };
    const found = await readAgain(lost, 1, async function* () {
      yield { messages: [damaged as unknown as Messages[number], ...replica([5])] };
    });
    expect(found.map(({ seq }) => seq)).toEqual([5]);
  });
});
