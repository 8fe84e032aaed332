import { STATUS_CODES } from 'node:http';
import { HttpError } from '../base/errors.js';
import { isRecord } from '../base/record.js';
import { redact } from '../base/secret.js';
import { parsedAs } from '../json/type-guards.js';
import type { Account } from './account.js';
import type { HttpRequest, HttpResponse } from './http-message.js';
import { parseRetryAfter } from './retry.js';
import { SETTINGS } from './settings.js';

/** The number of bytes that are read from the body of an error response. */
const MAX_BYTES = 64 * 1024;
/** The maximum time for reading the body of an error response, in milliseconds. */
const MAX_READ_MS = 5_000;
/**
 * The maximum number of characters that an error shows of the service's message, or of the body if it has no
 * message.
 */
const MAX_SHOWN = 500;

/**
 * Creates the error for a response that is not a success.
 *
 * @param text The body of the response.
 * @param advice Returns advice for a status and the service's message. The message may contain a secret.
 */
export function responseError(
  account: Account,
  request: HttpRequest,
  { status, url, headers }: HttpResponse,
  text: string,
  advice: (status: number, message: string) => string = status =>
    request.advice?.(status) ?? adviceFor(status),
): HttpError {
  const { method } = request;
  const said = messageOf(text) ?? text;
  const body = plain(redact(said)).slice(0, MAX_SHOWN);
  const retryAfterMs = parseRetryAfter(headers['retry-after'], headers.date, account.timing.now());
  const name = STATUS_CODES[status] ?? '';
  const message = [
    `${method} ${url} answered ${`${status} ${name}`.trim()}${body === '' ? '' : `: ${body}`}`,
    advice(status, said),
    retryAfterMs === undefined ? '' : `It asks to wait ${retryAfterMs / 1000} s`,
  ]
    .filter(part => part !== '')
    .join('. ')
    .replaceAll('.. ', '. ');
  return new HttpError(message, {
    status,
    method,
    url,
    body,
    retryAfterMs,
    retryable: status === 429 || status >= 500,
  });
}

/**
 * Returns the start of the body of an error response. If the body breaks off or takes too long, returns what
 * has arrived, because the status alone is informative enough.
 */
export async function readErrorBody(
  response: HttpResponse,
  signal: AbortSignal | undefined,
): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const timer = setTimeout(() => response.close(), MAX_READ_MS);
  try {
    for await (const chunk of response.body) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes >= MAX_BYTES) break;
    }
  } catch {
    signal?.throwIfAborted();
  } finally {
    clearTimeout(timer);
  }
  return Buffer.concat(chunks).subarray(0, MAX_BYTES).toString();
}

/**
 * Finds the message in a body such as `{ error: { message } }`, `{ error: string }` or `{ errors: [string]
 * }`.
 */
function messageOf(text: string): string | undefined {
  const body = parsedAs(text, isRecord);
  const error = memberOf(body, 'error');
  const errors = memberOf(body, 'errors');
  const candidates = [
    memberOf(error, 'message'),
    error,
    Array.isArray(errors)
      ? errors.map(entry => memberOf(entry, 'message') ?? entry).join('; ')
      : '',
    memberOf(body, 'message'),
    jobMessage(body),
  ];
  return candidates.find(
    (candidate): candidate is string => typeof candidate === 'string' && candidate !== '',
  );
}

/**
 * Returns the message from the response for a job that was not created: its `statusMessage`, and the reason
 * for each refused rule.
 */
export function jobMessage(body: unknown): string | undefined {
  const message = memberOf(body, 'statusMessage');
  const detail = memberOf(memberOf(body, 'rules'), 'detail');
  if (typeof message !== 'string') return undefined;
  const reasons = (Array.isArray(detail) ? detail : [])
    .filter(entry => typeof memberOf(entry, 'message') === 'string')
    .map(
      entry =>
        `${JSON.stringify(memberOf(memberOf(entry, 'rule'), 'value'))}: ${String(memberOf(entry, 'message'))}`,
    );
  return [message, ...reasons].join(' ');
}

function memberOf(value: unknown, key: string): unknown {
  return isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

function plain(text: string): string {
  return text.replace(/[\p{Cc}\p{Zs}\p{Zl}\p{Zp}]+/gu, ' ').trim();
}

function adviceFor(status: number): string {
  if (status >= 300 && status < 400)
    return 'Redirects are not followed: check the address that account() was given';
  if (status === 401)
    return `Check the email and password (${SETTINGS.email.env}, ${SETTINGS.password.env})`;
  if (status === 404)
    return 'Check the address, the account name and the label: upper and lower case differ';
  return '';
}
