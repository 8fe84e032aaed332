import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { constants, createGunzip } from 'node:zlib';
import split2 from 'split2';
import { Ids } from '../jobs/ids.js';
import type { Work } from '../question.js';

interface Message {
  readonly info?: unknown;
  readonly id_str: string;
}

/** The same with Node's own client. */
export async function run({ files, out }: Work): Promise<void> {
  const ids = new Ids();
  const request = get(`${files[0]}/replay`, { headers: { 'accept-encoding': 'gzip' } });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  await pipeline(
    response,
    createGunzip({ flush: constants.Z_SYNC_FLUSH }),
    split2('\r\n', text => (text === '' ? undefined : JSON.parse(text))),
    async (messages: AsyncIterable<Message>) => {
      for await (const message of messages) if (message.info === undefined) ids.add(message.id_str);
    },
  );
  await ids.write(out);
}
