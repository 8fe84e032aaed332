import { MINUTE, SECOND } from '../../time.js';
import { HttpProblem } from '../http/http-problem.js';

/** Wrong passwords in a minute after which no more are looked at. */
const MOST = 10;

/** Slows down whoever tries passwords. In real time: whoever guesses waits for real. */
export class SignInAttempts {
  #failures: number[] = [];

  /** @throws Refusal 429, and when to come again, after too many failures. */
  check(): void {
    const now = Date.now();
    this.#failures = this.#failures.filter(time => time > now - MINUTE);
    const first = this.#failures.at(-MOST);
    if (first === undefined) return;
    const seconds = Math.max(1, Math.ceil((first + MINUTE - now) / SECOND));
    throw new HttpProblem(429, `Too many sign-ins failed. Try again in ${seconds} s.`, {
      'Retry-After': String(seconds),
    });
  }

  failed(): void {
    this.#failures.push(Date.now());
  }
}
