import { describe, expect, it } from 'vitest';
import { DataError } from '../../src/base/errors.js';
import type { HttpResponse } from '../../src/http/http-message.js';
import { readJson, readText } from '../../src/http/read-json.js';
import { request } from '../../src/http/request.js';
import { unchecked } from '../unchecked.js';
import { accountFor, CANARY, errorOf, serveEachTest, server } from './served-requests.js';

serveEachTest();

function responseOf(text: string, type = 'application/json'): HttpResponse {
  async function* pieces() {
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; at += 3) yield bytes.subarray(at, at + 3);
  }
  return {
    status: 200,
    headers: { 'content-type': type },
    url: 'https://search.test/x',
    body: pieces(),
    rawBlocks: unchecked(undefined),
    receivedBytes: 0,
    close: () => {},
  };
}

describe('the JSON body of a response', () => {
  it('shows no secret in the cause of its error', async () => {
    const acme = accountFor();
    server.script.push(response => response.end(CANARY));
    const call = { method: 'GET', url: new URL(server.url), family: 'usage' } as const;
    const error = await errorOf(
      request(acme, call, async response => {
        throw new DataError('Damaged', { cause: new Error(await readText(response)) });
      }),
    );
    expect((error.cause as Error).message).toBe('[redacted]');
    expect((error.cause as Error).stack).not.toContain(CANARY);
  });

  it('is parsed with exact ids, for any chunk sizes', async () => {
    const text = '{"id":9007199254740993,"text":"天気 🍕"}';
    expect(await readJson(responseOf(text))).toEqual({ id: '9007199254740993', text: '天気 🍕' });
  });

  it.each(['', ' ', '{"a":', '[1,'])(
    'causes a retryable error if it is truncated to %j',
    async text => {
      const error = await errorOf(readJson(responseOf(text)));
      expect(error).toBeInstanceOf(DataError);
      expect(error).toMatchObject({
        retryable: true,
        position: { origin: 'https://search.test/x' },
      });
    },
  );

  it('causes an error with its type and first characters if it is a web page', async () => {
    const error = await errorOf(readJson(responseOf('<html>Bad gateway</html>', 'text/html')));
    expect(error.retryable).toBe(false);
    expect(error.message).toContain('its content-type is text/html');
    expect(error.message).toContain('"<html>Bad gateway</html>"');
  });

  it('causes a DataError if it is larger than the limit', async () => {
    expect(await readText(responseOf('x'.repeat(10)), 10)).toBe('x'.repeat(10));
    const error = await errorOf(readText(responseOf('x'.repeat(11)), 10));
    expect(error).toBeInstanceOf(DataError);
    expect(error.message).toContain('larger than 10 bytes');
  });
});
