import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { failDisk } from '../matrix/failing-disk.js';
import type { Counts, Trial } from '../part.js';
import type { Random } from '../random.js';
import { ReaderRun } from './reader-run.js';
import type { StreamSetting } from './stream-setting.js';
import { BATCH, type OneMessage, type StoredMessage, SUBJECTS } from './stream-world.js';

const POSTS = 120;
const COPIES = 20;
/**
 * `WINDOW_MS` is the shortest duplicate window that `toJetStream` accepts: within it, servers drop
 * a repeated message. After `BEHIND_WINDOW_MS`, they store the message again.
 */
const WINDOW_MS = 1_000;
const BEHIND_WINDOW_MS = 1_200;
const TOO_LARGE = 65 << 20;
let bomb: Buffer | undefined;

type Damage = 'malformed' | 'oversized';

/**
 * Tests a message that no reader can parse, between valid messages. Readers can continue only when
 * it is deleted.
 */
export const tryDamaged =
  (damage: Damage) =>
  async (setting: StreamSetting, trial: Trial): Promise<Counts> => {
    const { random } = trial;
    const world = await setting.world();
    const name = world.newName();
    const options = random.chance(0.5) ? {} : { batch: BATCH };
    const records = world.records.slice(0, POSTS);
    const shard = random.pick([undefined, { index: random.whole(1, 2), of: 2 }]);
    const numbers = Array.from({ length: SUBJECTS }, (_, number) => number).filter(
      number => shard === undefined || number % shard.of === shard.index - 1,
    );
    const half = random.whole(1, POSTS - 1);
    await world.publish(name, records.slice(0, half), { ...options, name: `${name}-before` });
    const subject = `${name}.${random.pick(numbers)}`;
    const { seq } = await world.send({ subject, ...damagedMessage(damage, records, random) });
    await world.publish(name, records.slice(half), { ...options, name: `${name}-behind` });
    const stream = { name, messages: await world.stored(name, seq) };
    const run = await ReaderRun.open(setting.libraries, trial, { world, stream, shard });
    try {
      const error = await run.error();
      if (error === undefined) throw new Error('The run ended as if nothing had been');
      if (
        error.code !== 'ERR_DATA' ||
        !error.message.includes(`sequence ${seq} of the subject ${subject}`)
      )
        throw error;
      const committed = await run.mustBeExact();
      run.mustNotHave(
        run.messages.filter(
          other => other.seq > seq && (shard === undefined || other.subject === subject),
        ),
      );
      await world.manager.streams.deleteMessage(name, seq);
      await run.mustReadTheRest(() => run.run());
      return { hits: 1, committed, ...(await run.mustBeComplete([seq])) };
    } finally {
      await run.close();
      await world.remove(name);
    }
  };

function damagedMessage(
  damage: Damage,
  records: readonly string[],
  random: Random,
): Omit<OneMessage, 'subject'> {
  const record = random.pick(records);
  const zipped = gzipSync(record);
  const batch = { 'Millrace-Encoding': 'gzip', 'Millrace-Lengths': `${Buffer.byteLength(record)}` };
  if (damage === 'oversized') {
    bomb ??= gzipSync(Buffer.alloc(TOO_LARGE, ' '));
    // The header declares either the real size or a wrong size.
    const size = random.pick([`${TOO_LARGE}`, '1000', `${32 << 20},${32 << 20},${1 << 20}`]);
    return { payload: bomb, headers: { ...batch, 'Millrace-Lengths': size } };
  }
  const plain = Buffer.from(record);
  const flipped = Buffer.from(zipped);
  // A bit after the gzip header is flipped, because most bytes of the header have no effect.
  const at = random.whole(10, zipped.length - 5);
  flipped[at] = (flipped[at] as number) ^ (1 << random.whole(0, 7));
  const publisher = { 'Millrace-Publisher': 'another' };
  return random.pick<Omit<OneMessage, 'subject'>>([
    { payload: Buffer.from([0xff, 0x00, 0xfe, 0x0a, 0x7b]), headers: {} },
    { payload: cut(record, random), headers: {} },
    { payload: Buffer.from('{"id_str":nil}'), headers: {} },
    { payload: zipped.subarray(0, random.whole(1, zipped.length - 1)), headers: batch },
    { payload: flipped, headers: batch },
    { payload: zipped, headers: {} },
    { payload: zipped, headers: { ...batch, 'Millrace-Encoding': 'br' } },
    { payload: plain, headers: { 'Millrace-Lengths': '12,nil' } },
    { payload: plain, headers: { 'Millrace-Lengths': '12' } },
    { payload: plain, headers: { ...publisher, 'Millrace-Epoch': '-1' } },
    { payload: plain, headers: publisher },
    {
      payload: plain,
      headers: { ...publisher, 'Millrace-Epoch': '1', 'Millrace-Subject-Position': '1 0' },
    },
  ]);
}

/**
 * Cuts a post, and removes any `}` at the end. Readers do not parse posts. They would deliver a cut
 * post that ends with `}` and contains an id.
 */
function cut(record: string, random: Random): Buffer {
  return Buffer.from(record.slice(0, random.whole(1, record.length - 2)).replace(/[}\s]+$/, ''));
}

export async function tryRepeated(setting: StreamSetting, trial: Trial): Promise<Counts> {
  const { random } = trial;
  const world = await setting.world();
  const name = world.newName();
  const how = random.pick([
    'another id',
    'no id',
    'same id',
    'behind window',
    'publisher',
  ] as const);
  const options = {
    ...(random.chance(0.5) && { batch: BATCH }),
    create: {
      ...world.target(name).create,
      ...(how === 'behind window' && { duplicateWindowMs: WINDOW_MS }),
    },
  };
  const records = world.records.slice(0, POSTS);
  const half = random.whole(20, POSTS);
  await world.publish(name, records.slice(0, half), { ...options, name: `${name}-first` });
  let copies = 0;
  if (how === 'publisher') {
    await world.publish(name, records.slice(0, half), { ...options, name: `${name}-again` });
    copies = half;
  } else {
    if (how === 'behind window') await sleep(BEHIND_WINDOW_MS);
    const stored = (await world.stored(name)).filter(({ posts }) => posts.length > 0);
    for (let copy = 0; copy < COPIES; copy++) {
      const { duplicate } = await world.send(copyOf(random.pick(stored), how, copy));
      // Within its duplicate window, the server drops a message with the same id.
      if (duplicate === (how === 'same id')) copies++;
    }
  }
  await world.publish(name, records.slice(half), { ...options, name: `${name}-rest` });
  const stream = { name, messages: await world.stored(name) };
  const dedupe = how === 'publisher';
  const run = await ReaderRun.open(setting.libraries, trial, { world, stream, dedupe });
  try {
    await run.run();
    return { hits: Number(copies > 0), copies, ...(await run.mustBeComplete()) };
  } finally {
    await run.close();
    await world.remove(name);
  }
}

function copyOf({ subject, headers, data }: StoredMessage, how: string, copy: number): OneMessage {
  const kept = (headers?.keys() ?? []).map(key => [key, headers?.get(key) ?? ''] as const);
  const all = new Map(kept);
  if (how === 'no id') all.delete('Nats-Msg-Id');
  if (how === 'another id') all.set('Nats-Msg-Id', `copy-${copy}`);
  for (const key of all.keys()) if (key.startsWith('Nats-Expected')) all.delete(key);
  return { subject, payload: data, headers: Object.fromEntries(all) };
}

/** Drops unread messages from the stream between two runs of the reader. */
export async function tryExpired(setting: StreamSetting, trial: Trial): Promise<Counts> {
  const { random } = trial;
  const world = await setting.world();
  const name = world.newName();
  await world.publish(name, world.records, random.pick([{}, { batch: BATCH }]));
  const stream = { name, messages: await world.stored(name) };
  const run = await ReaderRun.open(setting.libraries, trial, { world, stream });
  try {
    const disk = await failDisk(run.out, 'EIO', random.whole(1, 25));
    const error = await run.error();
    disk.lift();
    if (error === undefined) return { hits: 0 };
    const committed = await run.mustBeExact();
    // A reader without a checkpoint starts at the first existing message.
    if (committed === 0) return { hits: 0 };
    const first = random.whole(2, stream.messages.at(-1)?.seq ?? 2);
    await world.manager.streams.purge(name, { seq: first });
    const dropped = run.messages.filter(({ seq }) => seq < first);
    await run.run();
    const lost = await run.mustName(dropped);
    return { hits: Number(lost > 0), lost, committed };
  } finally {
    await run.close();
    await world.remove(name);
  }
}
