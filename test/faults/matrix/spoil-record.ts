import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { Random } from '../random.js';
import { elementsIn, isItem } from './bare-client.js';
import type { FaultSetting, Planted } from './fault.js';
import type { Tampering } from './fault-proxy.js';
import { PATHS, type Sent } from './sent.js';
import { aim } from './service-fault.js';

/**
 * Changes one record of a response and of each later response until the fault is lifted. If the
 * pipeline reads a stored file, changes one record of the file.
 */
export async function spoilRecord(
  setting: FaultSetting,
  change: (record: string, random: Random) => string,
  { isLasting = true } = {},
): Promise<Planted> {
  const { row, world, random, input, out } = setting;
  if (row.endpoints.length === 0) {
    const folder = row.name === 'applyCompliance' ? out : input;
    return spoilStored(folder, random, change);
  }
  // Never chooses the first or the last element of a page. See `changeElement`.
  const isPage = ({ messages, address }: Sent) =>
    messages.length === 0 && !address.endsWith('.json.gz');
  const aimed = aim(setting, sent => sent.records > (isPage(sent) ? 2 : 0));
  const { sent, skip, endpoint } = aimed;
  const at = isPage(sent)
    ? random.whole(1, sent.records - 2)
    : random.whole(0, Math.min(5, sent.records - 1));
  let hits = 0;
  const spoilt = (record: string) => {
    const changed = change(record, random);
    if (changed !== record) hits++;
    return changed;
  };
  const tampering: Tampering = {
    path: aimed.path ?? PATHS[endpoint] ?? '',
    skip,
    times: isLasting ? Number.POSITIVE_INFINITY : 1,
    ...(isPage(sent)
      ? { document: text => changeElement(text, at, spoilt) }
      : {
          lines: (line, index) =>
            index === at ? spoilt(line.trimEnd()) + (/\r?\n$/.exec(line)?.[0] ?? '') : line,
        }),
  };
  world.proxy?.tamperings.push(tampering);
  return {
    hits: () => hits,
    lift: () => {
      tampering.times = 0;
    },
  };
}

/**
 * Changes an element in the array of a page. Never changes the first or the last element, because
 * `elementsIn` returns them with text from around the array.
 */
function changeElement(text: string, at: number, change: (element: string) => string): string {
  const elements = elementsIn(text);
  const which = Math.min(at, elements.length - 2);
  const element = elements[which];
  if (which < 1 || element === undefined) return text;
  elements[which] = change(element);
  return elements.join(',');
}

async function spoilStored(
  folder: string,
  random: Random,
  change: (record: string, random: Random) => string,
): Promise<Planted> {
  const name = `${random.pick(['1000', '1010', '1020', '1110', '1150'])}.json.gz`;
  const file = path.join(folder, name);
  const good = await readFile(file);
  const all = gunzipSync(good).toString().split('\n');
  const at = random.whole(0, Math.max(0, all.length - 3));
  const record = (all[at] ?? '').trimEnd();
  all[at] = change(record, random);
  await writeFile(file, gzipSync(all.join('\n')));
  const hits = isItem(record) && all[at] !== record ? 1 : 0;
  return { hits: () => hits, lift: () => writeFile(file, good) };
}

export async function damageStored(
  { row, input, out, random }: FaultSetting,
  damage: (bytes: Buffer) => Buffer,
): Promise<Planted> {
  const folder = row.name === 'applyCompliance' ? out : input;
  const file = path.join(folder, `${random.pick(['1000', '1020', '1110', '1150'])}.json.gz`);
  const good = await readFile(file);
  const damaged = damage(Buffer.from(good));
  await writeFile(file, damaged);
  const hits = damaged.equals(good) ? 0 : 1;
  return { hits: () => hits, lift: () => writeFile(file, good) };
}
