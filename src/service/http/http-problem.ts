import { randomBytes } from 'node:crypto';
import { formatSent } from '../../base/time.js';

/** An error response with its status, message and headers. Handlers and checks throw it. */
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

export function unprocessable(problems: readonly string[]): HttpProblem {
  return new HttpProblem(422, withPrefix(problems.map(problem => problem.trim()).join('\n')));
}

export function withPrefix(problem: string): string {
  return `There were errors processing your request: ${problem}`;
}

/** Creates the body of an error response. Search, jobs and OAuth have different structures. */
export type ErrorBody = (message: string, now: number, method: string) => object;

/** Returns the error body of rules, jobs and streams. */
export const messageErrorBody: ErrorBody = (message, now) => ({
  error: { message, sent: formatSent(now) },
});

/**
 * Returns the error body of the search endpoints. The transaction id looks like the ids of the real service:
 * 16 hexadecimal digits that begin with two zeros.
 */
export const searchErrorBody: ErrorBody = (message, now) => ({
  error: {
    message,
    sent: formatSent(now),
    transactionId: `00${randomBytes(7).toString('hex')}`,
  },
});

/** Returns the error body of authorization and engagement totals: one string for each line of the message. */
export const errorsErrorBody: ErrorBody = message => ({ errors: message.split('\n') });
