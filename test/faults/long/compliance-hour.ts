import { appendFileSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { ComplianceEvent } from 'millrace';
import type { Fault } from 'millrace/service';
import { hashOf } from '../matrix/bare-client.js';
import type { Millrace } from '../matrix/pipeline.js';
import { minuteOf, NOW } from '../matrix/windows.js';
import type { Counts, Trial } from '../part.js';
import type { Random } from '../random.js';
import type { Course } from './course.js';
import { Hour } from './hour.js';

const MINUTE = 60_000;
const STEP_MS = MINUTE / 2;
/** The clock runs this many times as fast as real time, so an hour takes 2.5 minutes. */
const SPEED = 24;
/**
 * The speed of the clock after the hour. The run then waits until replays have filled all gaps. A
 * replay delivers a minute only once the minute is half an hour old.
 */
const TAIL_SPEED = 40;
/** This limit only detects hangs. */
const TAIL_MS = 300 * MINUTE;
/** The stream starts this long before the run, so a replay also delivers its first minutes. */
const SINCE_MS = 10 * MINUTE;
/** An event that is older than this when it arrives came from a replay. */
const MAX_LIVE_MS = 2 * MINUTE;

type Range = { readonly fromDate: string; readonly toDate: string };

/** Connections break every few minutes. The run ends when the replays have filled all gaps. */
export async function complianceHour(
  millrace: Millrace,
  minutes: number,
  { folder, random, signal }: Trial,
  course: Course,
): Promise<Counts> {
  await using hour = await Hour.open(
    millrace,
    random,
    { speed: SPEED },
    { postsPerMinute: 200, complianceRate: 1 },
  );
  const { clock, account } = hour;
  const [from, end] = [NOW - SINCE_MS, NOW + minutes * MINUTE];
  hour.countConnections('compliance');
  for (let fault = 0; fault < minutes / 2; fault++) hour.plant(brokenConnection(random));

  const file = path.join(folder, 'events.txt');
  let seen: string[] = [];
  let late: number[] = [];
  let events = 0;
  const keep = (event: ComplianceEvent) => {
    events++;
    const at = event.at?.getTime() ?? Number.NaN;
    const ageMs = clock.now() - at;
    if (ageMs < MAX_LIVE_MS) late.push(ageMs / clock.state.speed);
    seen.push(`${at} ${hashOf(event.raw.toString())}\n`);
  };
  await using tombstones = await millrace.openTombstones(path.join(folder, 'tombstones'));
  const stop = new AbortController();
  const done = new Error('All is there');
  const running = millrace
    .pipeline(
      millrace.compliance(account, {
        fromDate: new Date(from),
        folder: path.join(folder, 'spool'),
        onGap: gap => {
          throw new Error(`A gap that was not filled: ${JSON.stringify(gap)}`);
        },
      }),
      millrace.tap(keep),
      millrace.intoTombstones(tombstones),
      { signal: AbortSignal.any([signal, stop.signal]) },
    )
    .then(
      () => new Error('The stream ended'),
      (error: unknown) => error,
    );
  let failure: unknown;
  running.then(error => {
    failure = error;
  });

  /** All minutes that a replay had to fill. Only events of these minutes may arrive twice. */
  const filled = new Map<string, Range>();
  const cursor = () => tombstones.cursor('compliance') as { gaps?: Range[] } | undefined;
  const step = async (ms: number) => {
    await clock.sleep(ms, signal);
    if (failure !== undefined) throw failure;
    for (const gap of cursor()?.gaps ?? []) filled.set(JSON.stringify(gap), gap);
    appendFileSync(file, seen.join(''));
    seen = [];
  };
  let delayMs = 0;
  while (clock.now() < end) {
    await step(STEP_MS);
    // While a connection is broken, no event arrives. In this case, the delay of the previous step
    // is kept.
    delayMs = late.toSorted((a, b) => a - b)[late.length >> 1] ?? delayMs;
    course.step({ 'delay of an event, ms': delayMs });
    late = [];
  }
  const { hits, connections } = await hour.clear();
  await clock.runAt(TAIL_SPEED);
  const last = clock.now() + TAIL_MS;
  while (clock.now() < last && (clock.now() < end + 32 * MINUTE || cursor()?.gaps?.length !== 0))
    await step(MINUTE);
  const open = cursor()?.gaps ?? [];
  if (open.length > 0) throw new Error(`Not filled: ${JSON.stringify(open)}`);
  stop.abort(done);
  const ended = await running;
  if (ended !== done) throw ended;
  appendFileSync(file, seen.join(''));

  const expected = await fetchEvents(hour, from, end);
  const found = mustHaveAll(readFileSync(file, 'utf8'), expected, [...filled.values()], {
    from,
    end,
  });
  const deleted = [...expected.values()].flatMap(text => {
    const [, id] = /^\{"delete":\{"status":\{.*?"id_str":"(\d+)"/.exec(text) ?? [];
    return id === undefined ? [] : [id];
  });
  const lost = deleted.filter(id => tombstones.post(id)?.deleted !== true);
  if (lost.length > 0 || deleted.length === 0)
    throw new Error(`${lost.length} of ${deleted.length} deleted posts have no tombstone`);
  return {
    hits,
    connections: connections[0] ?? 0,
    events,
    ...found,
    lost: 0,
    'doubled outside of gaps': 0,
  };
}

function brokenConnection(random: Random): Fault {
  const afterBytes = random.whole(1_000, 40_000);
  const afterMessages = random.whole(20, 500);
  const endpoint = 'compliance';
  return random.pick<Fault>([
    { kind: 'cut', afterBytes, end: 'reset', endpoint },
    { kind: 'cut', afterBytes, end: 'finish', endpoint },
    { kind: 'content-cut', afterMessages, within: 'message', end: 'close', endpoint },
    { kind: 'content-cut', afterMessages, within: 'boundary', end: 'finish', endpoint },
    { kind: 'stall', afterBytes, endpoint },
    { kind: 'status', status: 503, endpoint },
  ]);
}

async function fetchEvents(hour: Hour, from: number, end: number): Promise<Map<string, string>> {
  const events = await hour.fetchReplay('compliance', from, end + MINUTE);
  const within = events.filter(line => timeIn(line) >= from && timeIn(line) < end);
  return new Map(within.map(line => [hashOf(line), line]));
}

function timeIn(event: string): number {
  const [, ms] = /"timestamp_ms":"?(\d+)/.exec(event) ?? [];
  // One kind of event about withheld users contains a date instead of a number.
  return ms === undefined
    ? Date.parse(/"timestampMs":"([^"]+)"/.exec(event)?.[1] ?? '')
    : Number(ms);
}

/**
 * Throws unless every event has arrived unchanged. An event may arrive twice only if a replay had
 * to fill its minute.
 */
function mustHaveAll(
  lines: string,
  expected: ReadonlyMap<string, string>,
  filled: readonly Range[],
  { from, end }: { readonly from: number; readonly end: number },
): Counts {
  const times = new Map<string, number>();
  let again = 0;
  for (const line of lines.split('\n').slice(0, -1)) {
    const [at = '', hash = ''] = line.split(' ');
    if (Number(at) < from || Number(at) >= end) continue;
    if (!expected.has(hash)) throw new Error(`Not an event of the service, at ${at}`);
    const before = times.get(hash) ?? 0;
    times.set(hash, before + 1);
    if (before === 0) continue;
    again++;
    const minute = minuteOf(Number(at));
    if (!filled.some(({ fromDate, toDate }) => fromDate <= minute && minute < toDate))
      throw new Error(`Twice, and in no gap: an event of ${minute}`);
  }
  const lost = [...expected].filter(([hash]) => !times.has(hash)).map(([, text]) => text);
  if (lost.length > 0)
    throw new Error(`Lost ${lost.length} of ${expected.size}: ${lost.slice(0, 3).join('\n')}`);
  return { items: times.size, 'again from a replay': again };
}
