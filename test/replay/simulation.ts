import { DAY, floorTo, MINUTE, SECOND, type Window } from '../../src/base/time.js';
import type { Rate } from '../../src/http/rate-limits.js';
import { SeenIds } from '../../src/replay/replay-cursor.js';
import { ReplayMachine, type ReplayState } from '../../src/replay/replay-machine.js';

export interface SimulatedReplay {
  readonly lost: number;
  readonly doubled: number;
  /** The number of connections beyond the limit of 5 in 5 minutes by the service's clock. */
  readonly overBudget: number;
  readonly inGaps: number;
  readonly posts: number;
  readonly connects: number;
  readonly faults: number;
  readonly crashes: number;
  readonly ended: 'done' | 'gave up';
}

export interface Parts {
  readonly machine: typeof ReplayMachine;
  readonly seenIds: typeof SeenIds;
}

export const REAL_PARTS: Parts = { machine: ReplayMachine, seenIds: SeenIds };

const RATES: readonly Rate[] = [{ requests: 5, perMs: 5 * MINUTE }];
const START = Date.UTC(2024, 4, 15, 12);
const LONGEST_RUN = 8 * DAY;
const POST_BYTES = 1000;

interface Post {
  readonly id: string;
  readonly at: number;
  /** The minute in which the stream delivers the post. */
  readonly minute: number;
}

/**
 * Simulates one replay in virtual time. The seed decides how the service fails. The logic of
 * replays, the ids and the commits are real, but sockets and files are simulated.
 */
export function simulate(seed: number, parts: Parts = REAL_PARTS): SimulatedReplay {
  const random = randomOf(seed);
  const chance = (ratio: number) => random() < ratio;
  const whole = (least: number, most: number) => least + Math.floor(random() * (most - least + 1));

  let now = START + random() * MINUTE;
  const minutes = whole(1, 180);
  const nearOldEdge = chance(0.1);
  const nearYoungEdge = !nearOldEdge && chance(0.2);
  const from = nearOldEdge
    ? floorTo(MINUTE, now - 5 * DAY + whole(-30, 30) * MINUTE)
    : floorTo(MINUTE, now - (nearYoungEdge ? 60 : 31 + minutes + whole(0, 1000)) * MINUTE);
  const window: Window = { from, to: from + minutes * MINUTE };
  const posts = postsOf(window, random);
  const clockOff = chance(0.1) ? whole(-60, 60) * MINUTE : 0;
  /**
   * Whether responses have a `Date` header. If they have none, the client assumes that its clock
   * and the service's agree.
   */
  const dated = chance(0.5);
  let heard = false;
  const maxRangeBytes = chance(0.5) ? whole(1, 100) * POST_BYTES : Number.POSITIVE_INFINITY;
  const faultiness = random() ** 2 * 0.8;
  /** For each minute, how many times it will still fail. */
  const failing = new Map<number, number>();
  for (let minute = window.from; minute < window.to; minute += MINUTE)
    if (chance(faultiness * 0.1)) failing.set(minute, chance(0.1) ? 99 : whole(1, 3));

  const counted: number[] = [];
  const delivered = new Map<string, number>();
  let [overBudget, connects, faults, crashes] = [0, 0, 0, 0];

  /** The state that survives a crash: the log of connections and the last commit. */
  const log: number[] = [];
  let committed: { state: ReplayState | undefined; ids: unknown; output: readonly Post[] } = {
    state: undefined,
    ids: {},
    output: [],
  };

  const service = (range: Window) => {
    connects++;
    const at = now + random() * 500;
    const recent = counted.filter(time => time > at - 5 * MINUTE);
    counted.push(at);
    if (recent.length >= 5) {
      overBudget++;
      return { status: 429 } as const;
    }
    const theirs = at + clockOff;
    if (
      range.to > theirs - 30 * MINUTE ||
      range.from > theirs - 31 * MINUTE ||
      range.from < theirs - 5 * DAY
    )
      return { status: 406 } as const;
    if (chance(faultiness * 0.3)) return { status: chance(0.5) ? 503 : 0 } as const;
    if (chance(faultiness * 0.05)) return { status: 429 } as const;

    const failed: number[] = [];
    let sent: Post[] = [];
    let stop = range.to;
    if (chance(faultiness * 0.2))
      stop = range.from + whole(0, (range.to - range.from) / MINUTE) * MINUTE;
    for (let minute = range.from; minute < stop; minute += MINUTE) {
      const all = posts.get(minute) ?? [];
      const left = failing.get(minute) ?? 0;
      if (left > 0) {
        failing.set(minute, left - 1);
        failed.push(minute);
        sent.push(...all.filter(() => chance(0.5)));
      } else sent.push(...all);
    }
    if (chance(0.1) && sent.length > 0) sent = [...sent, sent[0] as Post];
    const count = sent.length;
    if (chance(faultiness * 0.3)) {
      faults++;
      return { status: 200, posts: sent.slice(0, whole(0, count)), end: undefined } as const;
    }
    // Sometimes drops posts in transfer although the connection ends cleanly.
    if (chance(faultiness * 0.1) && count > 0) sent = sent.filter((_, index) => index % 7 !== 3);
    const told = { activityCount: chance(faultiness * 0.05) ? count + 1 : count };
    const incomplete = stop < range.to;
    if (failed.length > 0 || incomplete) faults++;
    return {
      status: 200,
      posts: sent,
      end: {
        ...told,
        outcome: incomplete ? 'failed' : failed.length > 0 ? 'completed_with_errors' : 'completed',
        // A request that fails to complete reports only its unprocessed range.
        minutesFailed: incomplete ? [] : failed,
        unprocessedRange: incomplete
          ? { from: Math.min(stop, ...failed), to: range.to }
          : undefined,
      },
    } as const;
  };

  run: while (now < START + LONGEST_RUN) {
    heard = false;
    const machine = new parts.machine(committed.state ?? window, { rates: RATES, maxRangeBytes });
    const seen = new parts.seenIds();
    seen.restore(JSON.parse(JSON.stringify(committed.ids)));
    const output = [...committed.output];
    const crash = () => chance(faultiness * 0.05) && ++crashes > 0;
    while (true) {
      const serviceNow = now + (dated ? clockOff : 0);
      const action = machine.next(now, heard ? serviceNow : undefined, log);
      if (action.do === 'done' || action.do === 'give up') {
        for (const post of output) delivered.set(post.id, (delivered.get(post.id) ?? 0) + 1);
        const gaps = [...machine.state.gaps];
        if (action.do === 'give up')
          gaps.push(...machine.state.open.map(open => ({ ...open, reason: 'failed' as const })));
        const all = [...posts.values()].flat();
        const missing = all.filter(({ id }) => !delivered.has(id));
        const inGap = ({ minute }: Post) => gaps.some(gap => gap.from <= minute && minute < gap.to);
        return {
          overBudget,
          connects,
          faults,
          crashes,
          posts: all.length,
          lost: missing.filter(post => !inGap(post)).length,
          inGaps: missing.filter(inGap).length,
          doubled: [...delivered.values()].filter(times => times > 1).length,
          ended: action.do === 'done' ? 'done' : 'gave up',
        };
      }
      if (action.do === 'wait') {
        now += action.ms;
        if (chance(faultiness * 0.05)) continue run;
        continue;
      }
      if (crash()) continue run;
      log.push(now);
      if (crash()) continue run;
      const answer = service(action.range);
      if (answer.status !== 0) heard = true;
      now += whole(1, 60) * SECOND;
      if (answer.status === 429) machine.limited(now, chance(0.5) ? 300 * SECOND : undefined);
      else if (answer.status === 406)
        machine.datesRefused(action.range, now, now + (dated ? clockOff : 0), random());
      else if (answer.status !== 200) machine.refused(now, random());
      else if (answer.end === undefined) machine.cut(now, random());
      else {
        const { end } = answer;
        const handsOn = machine.ended(action.range, end, receivedOf(answer.posts), now, random());
        if (!handsOn) continue;
        for (const post of answer.posts) if (seen.add(post.id, post.at)) output.push(post);
        seen.keepOnly(machine.state.open.filter(range => range.partial));
        if (crash()) continue run;
        committed = {
          state: JSON.parse(JSON.stringify(machine.state)) as ReplayState,
          ids: seen.state(),
          output: [...output],
        };
      }
      if (crash()) continue run;
    }
  }
  throw new Error(`Seed ${seed} does not end`);
}

const receivedOf = (posts: readonly Post[]) => ({
  activities: posts.length,
  bytes: POST_BYTES * posts.length,
});

/**
 * Returns the posts that the stream delivers in each minute. The time of one in ten posts is
 * shifted, so that it may be outside of this minute.
 */
function postsOf(window: Window, random: () => number): Map<number, Post[]> {
  const posts = new Map<number, Post[]>();
  let id = 1_700_000_000_000_000_000n;
  for (let minute = window.from; minute < window.to; minute += MINUTE)
    posts.set(
      minute,
      Array.from({ length: Math.floor(random() * 4) }, () => {
        id += BigInt(1 + Math.floor(random() * 1e6));
        const off = random() < 0.1 ? (random() - 0.5) * 2 * MINUTE : 0;
        return { id: String(id), at: minute + random() * MINUTE + off, minute };
      }),
    );
  return posts;
}

function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
