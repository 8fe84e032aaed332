import { DAY, floorTo, MINUTE, parseTimestamp, type Window } from '../../time.js';
import { HttpProblem } from '../http/http-problem.js';
import type { Limits } from '../http/service-limits.js';

/**
 * The window of a replay, judged by the service's clock (service.md 4.3): else 406 with all that is
 * wrong with the dates.
 */
export function replayWindow(parameters: URLSearchParams, now: number, limits: Limits): Window {
  const problems: string[] = [];
  const earliest = floorTo(MINUTE, now - limits.replayReachMs);
  const dateOf = (name: string, ageMs: number): number => {
    const ms = parseTimestamp(parameters.get(name) ?? '');
    const wrong = `Invalid date for query parameter '${name}'.`;
    if (ms === undefined)
      problems.push(
        `Invalid date format for query parameter '${name}'. Expected format is 'yyyyMMddHHmm'. ` +
          "For example, '201701012315' for January 1st, 11:15 pm 2017 UTC.\n\n",
      );
    else if (ms > now - ageMs)
      problems.push(
        `${wrong} Can't ask for tweets from within the past ${ageMs / MINUTE} minutes.`,
      );
    else if (ms < earliest)
      problems.push(
        `${wrong} Can't ask for tweets from more than ${limits.replayReachMs / DAY} days ago.`,
      );
    return ms ?? 0;
  };
  const from = dateOf('fromDate', limits.replayFromAgeMs);
  const to = dateOf('toDate', limits.replayToAgeMs);
  if (problems.length === 0 && from >= to)
    problems.push("Invalid date for query parameter 'fromDate'. It must be before 'toDate'.");
  if (problems.length > 0) throw new HttpProblem(406, problems.join('\n'));
  return { from, to };
}
