import { appendFile, readdir } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { ConnectLog } from '../../src/replay/connect-log.js';
import { temporaryFolder } from '../temporary-folder.js';

const AT = Date.UTC(2024, 1, 29);

it('ConnectLog returns only complete and valid times, in order', async () => {
  const folder = await temporaryFolder();
  const log = new ConnectLog(folder, 'acme');
  await log.add(AT + 5);
  await log.add(AT);
  await log.add(AT + 1);
  await log.move(AT, AT + 7);
  const [name] = await readdir(folder);
  for (const line of [
    ...['2024-02-29T00:00:00.00', '2024-13-01T00:00:00.000Z', '2024-02-30T00:00:00.000Z'],
    ...['2024-01-01T00:00:61.000Z', '2024-02-29T00:00:00.001Z 2024-02-29T24:00:01.000Z'],
  ])
    await appendFile(`${folder}/${name}`, `\n${line}\n`);
  expect(await log.read()).toEqual([AT + 1, AT + 5, AT + 7]);
});

it('ConnectLog keeps a time that follows an incomplete line of a killed process', async () => {
  const folder = await temporaryFolder();
  const log = new ConnectLog(folder, 'acme');
  await log.add(AT);
  const [name] = await readdir(folder);
  await appendFile(`${folder}/${name}`, '\n2024-02-29T00:0');
  await log.add(AT + 1);
  expect(await log.read()).toEqual([AT, AT + 1]);
});
