import { IdWindow } from '../activity/id-window.js';
import { BatchQueue } from '../flow/batch-queue.js';
import { batchesOf, type Flow, OwnFlow, type Run } from '../flow/flow.js';
import { framed } from '../flow/framed.js';
import type { Account } from '../http/account.js';
import { Fields } from '../http/read-fields.js';
import { request } from '../http/request.js';
import { recordLimits } from '../json/record-limits.js';
import { LinkedAbort } from '../linked-abort.js';
import { parseReplayRule, type ReplayRule } from './replay-rule.js';
import { type ReplayRulesOptions, replayRulesUrl } from './rule-request.js';

/** The number of rules that may wait for the consumer. */
const MAX_WAITING = 2_000;

/**
 * The rules of the replay stream as a flow, so that hundreds of thousands need little memory. A
 * response that is cut is requested again, and the flow continues with the rules that were not
 * received yet.
 *
 * @throws OptionError immediately, also for missing settings of the account.
 * @throws HttpError, ConnectionError, DataError from the flow.
 * @example
 * for await (const { id, value, tag } of replayRules.list(account())) console.log(id, tag, value);
 */
export function listReplayRules(
  account: Account,
  options: ReplayRulesOptions = {},
): Flow<ReplayRule> {
  const url = replayRulesUrl('replayRules.list', account, options);
  return new OwnFlow(run => listed(account, url, run, options.signal), undefined, [
    { step: 'replayRules', path: url.pathname, ...account.serviceAt(url) },
  ]);
}

async function* listed(account: Account, url: URL, run: Run, signal: AbortSignal | undefined) {
  const linked = new LinkedAbort(run.signal, signal);
  const bound = linked.signal;
  const queue = new BatchQueue<ReplayRule>(MAX_WAITING);
  const seen = new IdWindow(Number.POSITIVE_INFINITY);
  const call = {
    method: 'GET',
    url,
    family: 'replayRules',
    kind: 'change',
    signal: bound,
  } as const;
  const limits = recordLimits('replayRules');
  request(account.withWaits(run.progress?.onWait), call, async answer => {
    const body = batchesOf(answer.body, { signal: bound });
    const { JsonArrayFramer } = await import('../json/json-array-framer.js');
    const start = () => new JsonArrayFramer('rules', limits, answer.url);
    for await (const { items } of framed('replayRules.list', body, start)) {
      const rules = items.map(rule => parseReplayRule(new Fields(rule, 'a rule', answer.url)));
      await queue.add(rules.filter(({ id, value }) => seen.add(id ?? `value ${value}`)));
    }
  }).then(
    () => queue.end(),
    error => queue.fail(error),
  );
  try {
    for await (const { items } of queue.read()) {
      if (run.progress !== undefined) run.progress.received += items.length;
      yield { items };
    }
  } finally {
    linked.unlink();
  }
}
