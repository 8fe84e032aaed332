import { randomBytes } from 'node:crypto';
import { formatSent } from '../../time.js';

/** An answer that is not a success: its status, its message, and what its headers add. */
export class HttpProblem extends Error {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.name = 'Refusal';
    this.status = status;
    this.headers = headers;
  }
}

/** A 422: all that is wrong with a request, in the service's own frame of words. */
export function unprocessable(problems: readonly string[]): HttpProblem {
  return new HttpProblem(422, withPrefix(problems.map(problem => problem.trim()).join('\n')));
}

export function withPrefix(problem: string): string {
  return `There were errors processing your request: ${problem}`;
}

/** The shape of an error's body, which differs from family to family (service.md 2.9, 7). */
export type ErrorBody = (message: string, now: number, method: string) => object;

/** Rules, jobs and streams (service.md 2.9). */
export const messageErrorBody: ErrorBody = (message, now) => ({
  error: { message, sent: formatSent(now) },
});

/** Search: with a transaction id, sixteen hexadecimal digits that begin with two zeros. */
export const searchErrorBody: ErrorBody = (message, now) => ({
  error: {
    message,
    sent: formatSent(now),
    transactionId: `00${randomBytes(7).toString('hex')}`,
  },
});

/** Authorization and engagement totals (service.md 2.9): a string for each line of the message. */
export const errorsErrorBody: ErrorBody = message => ({ errors: message.split('\n') });
