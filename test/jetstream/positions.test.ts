import fc from 'fast-check';
import { DataError } from 'millrace';
import { describe, expect, it } from 'vitest';
import {
  HEADERS,
  type SubjectPosition,
  shownPosition,
  subjectPositionOf,
} from '../../src/jetstream/message.js';
import {
  inBoth,
  isLostAndRepeated,
  LostAndRepeated,
  type LostPositions,
} from '../../src/jetstream/positions.js';

interface Message extends SubjectPosition {
  readonly publisher: string;
  readonly subject: string;
}

const headersOf = (values: Readonly<Record<string, string>>) => ({
  get: (name: string) => values[name] ?? '',
});
const headersFor = (message: Message) =>
  headersOf({
    [HEADERS.publisher]: message.publisher,
    [HEADERS.subjectPosition]: shownPosition(message),
  });
const admits = (positions: LostAndRepeated, message: Message) =>
  positions.admits(message.subject, headersFor(message));
const copyOf = (positions: LostAndRepeated) =>
  new LostAndRepeated(JSON.parse(JSON.stringify(positions)));

interface Sent {
  readonly key: number;
  /** The message may arrive after up to this many later messages. */
  readonly delay: number;
  readonly copies: number;
  readonly isLost: boolean;
  /**
   * Whether the publisher starts a new series with this message, and numbers its messages from 0
   * again.
   */
  readonly beginsSeries: boolean;
}

const KEYS = [
  ['one', 'posts.0'],
  ['one', 'posts.1'],
  ['two', 'posts.0'],
] as const;

const sent = fc.array(
  fc.record({
    key: fc.nat(KEYS.length - 1),
    delay: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.nat(6)),
    copies: fc.oneof({ weight: 5, arbitrary: fc.constant(1) }, fc.integer({ min: 2, max: 3 })),
    isLost: fc.oneof({ weight: 6, arbitrary: fc.constant(false) }, fc.boolean()),
    beginsSeries: fc.oneof({ weight: 20, arbitrary: fc.constant(false) }, fc.boolean()),
  }) satisfies fc.Arbitrary<Sent>,
  { maxLength: 60 },
);

/**
 * Simulates the servers. `stored` lists every message that has arrived, even if the servers lost it
 * later. `stream` lists what readers find, including copies.
 */
function streamOf(all: readonly Sent[]) {
  const next = KEYS.map(() => 0);
  const series = KEYS.map(() => 1);
  /** The messages in transit, in the order in which they were sent. */
  const flying: { message: Message; arrival: number; sent: Sent }[] = [];
  const stream: Message[] = [];
  const stored: { message: Message; isLost: boolean }[] = [];
  const arrive = (now: number) => {
    for (const one of flying.filter(({ arrival }) => arrival <= now)) {
      flying.splice(flying.indexOf(one), 1);
      stored.push({ message: one.message, isLost: one.sent.isLost });
      if (!one.sent.isLost)
        stream.push(...Array.from({ length: one.sent.copies }, () => one.message));
    }
  };
  for (const [now, one] of all.entries()) {
    const [publisher, subject] = KEYS[one.key]!;
    if (one.beginsSeries) {
      // The publisher of the earlier series has ended, so its messages in transit are dropped.
      for (const other of flying.filter(({ message }) => isOf(message, publisher, subject)))
        flying.splice(flying.indexOf(other), 1);
      next[one.key] = 0;
      series[one.key]!++;
    }
    const position = next[one.key]!++;
    const unacknowledged = flying
      .filter(({ message }) => isOf(message, publisher, subject))
      .map(({ message }) => message.position);
    const message = {
      publisher,
      subject,
      position,
      series: series[one.key]!,
      acknowledged: Math.min(position, ...unacknowledged),
    };
    flying.push({ message, arrival: now + one.delay, sent: one });
    arrive(now);
  }
  arrive(Number.POSITIVE_INFINITY);
  return { stream, stored };
}

function isOf(message: Message, publisher: string, subject: string): boolean {
  return message.publisher === publisher && message.subject === subject;
}

const shown = ({ publisher, subject, series, position }: Message) =>
  `${publisher} ${subject} ${series} ${position}`;
const shownLost = (lost: readonly LostPositions[]) =>
  lost.flatMap(({ publisher, subject, from, to }) =>
    Array.from({ length: to - from + 1 }, (_, i) => `${publisher} ${subject} ${from + i}`),
  );

describe('LostAndRepeated, which detects lost and repeated messages,', () => {
  it('accepts each message only once, even after a run is resumed', () => {
    fc.assert(
      fc.property(sent, fc.array(fc.boolean(), { minLength: 60 }), (all, resumed) => {
        const { stream } = streamOf(all);
        let positions = new LostAndRepeated({ isWhole: true });
        const admitted: string[] = [];
        for (const [index, message] of stream.entries()) {
          if (admits(positions, message)) admitted.push(shown(message));
          if (resumed[index] === true) positions = copyOf(positions);
        }
        // Once a new series has started, messages of the earlier series are not admitted.
        expect(admitted).toEqual([...new Set(stream.map(shown))]);
      }),
    );
  });

  /**
   * Generates streams with one series per publisher, and reads each stream with several restarts.
   * Checks which messages are reported as lost and which can still arrive.
   */
  const afterReading = (
    check: (read: {
      readonly stream: ReturnType<typeof streamOf>['stream'];
      readonly stored: ReturnType<typeof streamOf>['stored'];
      readonly reported: readonly string[];
      readonly open: ReadonlySet<string>;
    }) => void,
  ) =>
    fc.assert(
      fc.property(
        sent.map(all => all.map(one => ({ ...one, beginsSeries: false }))),
        fc.array(fc.boolean(), { minLength: 60 }),
        (all, resumed) => {
          const { stream, stored } = streamOf(all);
          let positions = new LostAndRepeated({ isWhole: true });
          const reported: string[] = [];
          for (const [index, message] of stream.entries()) {
            admits(positions, message);
            if (resumed[index] === true) positions = copyOf(positions);
            reported.push(...shownLost(positions.takeLost()));
          }
          check({ stream, stored, reported, open: new Set(shownLost(positions.open)) });
        },
      ),
    );

  it('reports each acknowledged message that is missing from the stream exactly once', () => {
    afterReading(({ stream, stored, reported }) => {
      const expected = stored.flatMap(({ message, isLost }) => {
        const { publisher, subject, position } = message;
        const isSaid = stream.some(
          other => isOf(other, publisher, subject) && other.acknowledged > position,
        );
        return isLost && isSaid ? [`${publisher} ${subject} ${position}`] : [];
      });
      expect(reported.toSorted()).toEqual(expected.toSorted());
    });
  });

  it('keeps a missing position open while higher ones exist and it is not reported, because its message may still arrive', () => {
    afterReading(({ stream, stored, reported, open }) => {
      for (const { message, isLost } of stored) {
        const { publisher, subject, position } = message;
        const key = `${publisher} ${subject} ${position}`;
        const isBelow = stream.some(
          other => isOf(other, publisher, subject) && other.position > position,
        );
        expect(open.has(key)).toBe(isLost && isBelow && !reported.includes(key));
      }
    });
  });

  it('reports no loss before the first message if a stream is not read from its start', () => {
    fc.assert(
      fc.property(sent, fc.nat(30), (all, start) => {
        const { stream } = streamOf(all.map(one => ({ ...one, isLost: false })));
        const positions = new LostAndRepeated({ isWhole: false });
        const rest = stream.slice(start);
        const admitted = rest.filter(message => {
          const isNew = admits(positions, message);
          expect(positions.takeLost()).toEqual([]);
          return isNew;
        });
        expect(admitted.map(shown)).toEqual([...new Set(rest.map(shown))]);
      }),
    );
  });

  it('reports no loss for messages that are missing directly after skip()', () => {
    fc.assert(
      fc.property(sent, fc.nat(30), fc.nat(10), (all, from, count) => {
        const { stream } = streamOf(all.map(one => ({ ...one, isLost: false, copies: 1 })));
        const positions = new LostAndRepeated({ isWhole: true });
        for (const message of stream.slice(0, from)) admits(positions, message);
        positions.skip();
        for (const message of stream.slice(from + count)) {
          expect(admits(positions, message)).toBe(true);
          expect(positions.takeLost()).toEqual([]);
        }
      }),
    );
  });

  it('reports no loss for a message that is missing directly after a second skip()', () => {
    const positions = new LostAndRepeated({ isWhole: true });
    const at = { publisher: 'one', subject: 'posts.0', series: 1 };
    positions.skip();
    admits(positions, { ...at, position: 0, acknowledged: 0 });
    positions.skip();
    // The stream received the message at position 6 before this message, but has dropped it.
    admits(positions, { ...at, position: 5, acknowledged: 4 });
    admits(positions, { ...at, position: 7, acknowledged: 7 });
    expect(positions.takeLost()).toEqual([]);
  });

  it('accepts a message once if it arrives after it was reported as lost', () => {
    const positions = new LostAndRepeated({ isWhole: true });
    const at = { publisher: 'one', subject: 'posts.0', series: 1 };
    admits(positions, { ...at, position: 2, acknowledged: 2 });
    expect(positions.takeLost()).toEqual([
      { publisher: 'one', subject: 'posts.0', from: 0, to: 1 },
    ]);
    expect(admits(positions, { ...at, position: 1, acknowledged: 0 })).toBe(true);
    expect(admits(positions, { ...at, position: 1, acknowledged: 0 })).toBe(false);
  });

  it('accepts all messages of other programs, which have no position header', () => {
    const positions = new LostAndRepeated({ isWhole: true });
    expect(positions.admits('posts.0', undefined)).toBe(true);
    expect(positions.admits('posts.0', headersOf({}))).toBe(true);
    expect(positions.toJSON().followed).toEqual({});
  });

  it.each(['1', '1 2', '1 2 3 4', 'a b c', '-1 0 0', '1.5 0 0', ' 1 2 3', `${'9'.repeat(16)} 0 0`])(
    'rejects the position header %j',
    text => {
      const headers = headersOf({ [HEADERS.subjectPosition]: text });
      expect(() => subjectPositionOf(headers)).toThrow(DataError);
    },
  );

  it('reads positions from a header as they were written', () => {
    const number = fc.nat(2 ** 48);
    fc.assert(
      fc.property(number, number, number, (position, acknowledged, series) => {
        const at = { position, acknowledged, series };
        const headers = headersOf({ [HEADERS.subjectPosition]: shownPosition(at) });
        expect(subjectPositionOf(headers)).toEqual(at);
      }),
    );
  });
});

describe('inBoth', () => {
  const range = fc
    .tuple(fc.nat(KEYS.length - 1), fc.nat(20), fc.nat(5))
    .map(([key, from, more]): LostPositions => {
      const [publisher, subject] = KEYS[key]!;
      return { publisher, subject, from, to: from + more };
    });

  it('returns the ranges of the positions that both lists contain', () => {
    fc.assert(
      fc.property(fc.array(range), fc.array(range), (some, others) => {
        const both = new Set(shownLost(inBoth(some, others)));
        const inOthers = new Set(shownLost(others));
        expect(both).toEqual(new Set(shownLost(some).filter(one => inOthers.has(one))));
      }),
    );
  });
});

describe('the positions in a cursor', () => {
  const cursor = (state: readonly unknown[]) => ({
    isWhole: true,
    followed: { 'a posts.0': state },
  });

  it.each([[[1, 5, 3, 2, 7]], [[1, 5, null, null, 7, [8, 9], [11, 11]]]])(
    'are accepted: %j',
    state => {
      expect(isLostAndRepeated(cursor(state))).toBe(true);
    },
  );

  it.each([
    [['1', 5, 3, 2, 7]],
    [[1, -5, 3, 2, 7]],
    [[1, null, 3, 2, 7]],
    [[1, 5, 'x', 2, 7]],
    [[1, 5, 3, 0.5, 7]],
    [[1, 5, 3, 2]],
    [[1, 5, 3, 2, 7, 8]],
    [[1, 5, 3, 2, 7, [8]]],
    [[1, 5, 3, 2, 7, [8, '9']]],
  ])('are rejected if they are damaged: %j', state => {
    expect(isLostAndRepeated(cursor(state))).toBe(false);
  });
});
