import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { OutputSearch } from './search-output.js';

const SECRET = 'kanarie/pass+word 1';
const pair = (email: string) => Buffer.from(`${email}:${SECRET}`).toString('base64');

it.each([
  SECRET,
  encodeURIComponent(SECRET),
  Buffer.from(SECRET).toString('hex'),
  pair('a@example.com'),
  pair('ab@example.com'),
  pair('abc@example.com'),
])('OutputSearch finds a secret that is split between chunks at any byte: %s', async printed => {
  const line = `Basic ${printed} is wrong\n`;
  for (let at = 0; at <= line.length; at++) {
    const stream = new PassThrough();
    const search = new OutputSearch([SECRET]);
    search.watch(stream);
    stream.write(line.slice(0, at));
    stream.write(Buffer.from(line.slice(at)));
    stream.end();
    expect(await text(stream)).toBe(line);
    expect(search.found.size).toBeGreaterThan(0);
  }
});

it('OutputSearch finds nothing without a secret', () => {
  const stream = new PassThrough();
  const search = new OutputSearch([SECRET]);
  search.watch(stream);
  stream.write(`${pair('a@example.com').slice(0, 20)} kanarie`);
  expect(search.found.size).toBe(0);
});
