import { type Flow, OwnFlow } from '../flow/flow.js';
import type { Account } from '../http/account.js';
import { LinkedAbort } from '../linked-abort.js';
import { type UsageOptions, usage, usageUrl } from './usage-report.js';
import { type UsageRow, usageTable } from './usage-table.js';

/**
 * The usage of the account as rows for files and sinks: one for each publisher, product and month or
 * day, with the projection for the month and the limits of the contract.
 *
 * @throws OptionError immediately, as `usage.report`; HttpError, ConnectionError, DataError from the
 * flow.
 * @example
 * await pipeline(usage.rows(account(), { bucket: 'day' }), files({ path: 'usage.jsonl' }));
 */
export function usageRows(account: Account, options: UsageOptions = {}): Flow<UsageRow> {
  const url = usageUrl('usage.rows', account, options);
  return new OwnFlow(
    async function* ({ signal, progress }) {
      const linked = new LinkedAbort(signal, options.signal);
      const report = usage(account.withWaits(progress?.onWait), {
        ...options,
        signal: linked.signal,
      });
      const items = usageTable(await report.finally(() => linked.unlink()));
      if (progress !== undefined) progress.received += items.length;
      yield { items };
    },
    undefined,
    [{ step: 'usageRows', report: url.pathname + url.search, ...account.serviceAt(url) }],
  );
}
