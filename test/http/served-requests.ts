import { inspect } from 'node:util';
import { afterEach, beforeEach, expect } from 'vitest';
import { MillraceError } from '../../src/base/errors.js';
import { type Account, type AccountOptions, account } from '../../src/http/account.js';
import type { HttpRequest, HttpResponse } from '../../src/http/http-message.js';
import { sendRequest } from '../../src/http/request.js';
import { ScriptedServer } from './scripted-server.js';

/** A password that must not appear in any error. */
export const CANARY = 'canary pa55/word"';
export const SPELLINGS = [
  CANARY,
  encodeURIComponent(CANARY),
  JSON.stringify(CANARY).slice(1, -1),
  Buffer.from(CANARY).toString('base64'),
  Buffer.from(`a@b.c:${CANARY}`).toString('base64'),
];

export let server: ScriptedServer;

export function serveEachTest(): void {
  beforeEach(async () => {
    server = await new ScriptedServer().start();
  });
  afterEach(() => server.stop());
}

export function accountFor(options: AccountOptions = {}): Account {
  return account(
    { baseUrl: server.url, account: 'acme', email: 'a@b.c', password: CANARY, ...options },
    {},
  );
}

export function get(acme: Account, more: Partial<HttpRequest> = {}): Promise<HttpResponse> {
  return sendRequest(acme, { method: 'GET', url: new URL(`${server.url}/path`), ...more });
}

export async function textOf(answer: HttpResponse): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of answer.body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** Returns the error of a call, and checks that it contains no password. */
export async function errorOf(promise: Promise<unknown>): Promise<MillraceError> {
  try {
    await promise;
  } catch (error) {
    expect(error).toBeInstanceOf(MillraceError);
    const shown = inspect(error, { depth: 9, showHidden: true }) + JSON.stringify(error);
    for (const spelling of SPELLINGS) expect(shown).not.toContain(spelling);
    return error as MillraceError;
  }
  throw new Error('It did not fail');
}
