import { pipeline } from 'node:stream/promises';
import { constants, createGunzip } from 'node:zlib';
import split2 from 'split2';
import { stream } from 'undici';
import { Ids } from '../jobs/ids.js';
import type { Work } from '../question.js';

interface Message {
  readonly info?: unknown;
  readonly id_str: string;
}

/** What one writes by hand: no count is held against the last message, and nothing is asked again. */
export async function run({ files, out }: Work): Promise<void> {
  const ids = new Ids();
  const gunzip = createGunzip({ flush: constants.Z_SYNC_FLUSH });
  const lines = split2('\r\n', text => (text === '' ? undefined : JSON.parse(text)));
  const done = pipeline(gunzip, lines, async (messages: AsyncIterable<Message>) => {
    for await (const message of messages) if (message.info === undefined) ids.add(message.id_str);
  });
  const headers = { 'accept-encoding': 'gzip' };
  await stream(
    `${files[0]}/replay`,
    { method: 'GET', headers, opaque: gunzip },
    ({ opaque }) => opaque as typeof gunzip,
  );
  await done;
  await ids.write(out);
}
