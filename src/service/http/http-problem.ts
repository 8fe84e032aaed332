import { randomBytes } from 'node:crypto';
import { formatSent } from '../../base/time.js';

/** An error response: its status, its message and its headers. Thrown by handlers and checks. */
export class HttpProblem extends Error {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.name = 'HttpProblem';
    this.status = status;
    this.headers = headers;
  }
}

/** A 422 that lists all problems of a request. */
export function unprocessable(problems: readonly string[]): HttpProblem {
  return new HttpProblem(422, withPrefix(problems.map(problem => problem.trim()).join('\n')));
}

export function withPrefix(problem: string): string {
  return `There were errors processing your request: ${problem}`;
}

/** The shape of an error body, which differs between families. */
export type ErrorBody = (message: string, now: number, method: string) => object;

/** Rules, jobs and streams. */
export const messageErrorBody: ErrorBody = (message, now) => ({
  error: { message, sent: formatSent(now) },
});

/** Search: with a transaction id of sixteen hexadecimal digits, of which the first two are zeros. */
export const searchErrorBody: ErrorBody = (message, now) => ({
  error: {
    message,
    sent: formatSent(now),
    transactionId: `00${randomBytes(7).toString('hex')}`,
  },
});

/** Authorization and engagement totals: a string for each line of the message. */
export const errorsErrorBody: ErrorBody = message => ({ errors: message.split('\n') });
