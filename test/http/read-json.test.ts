import { describe, expect, it } from 'vitest';
import { DataError } from '../../src/errors.js';
import { readText } from '../../src/http/read-json.js';
import { request } from '../../src/http/request.js';
import { accountFor, CANARY, errorOf, serveEachTest, server } from './served-requests.js';

serveEachTest();

describe('the body of a response', () => {
  it('shows no secret in the cause of an error about it', async () => {
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
});
