import type { Account } from '../http/account.js';
import { checkSilence } from '../http/live-connection.js';
import { serviceUrl } from '../http/service-url.js';

/** The stream whose past a replay delivers. */
export type StreamType = 'rulestream' | 'sample10' | 'firehose' | 'mentions' | 'compliance';

export const STREAM_TYPES: readonly StreamType[] = [
  ...(['rulestream', 'sample10', 'firehose', 'mentions', 'compliance'] as const),
];

/** The address of a replay, without its dates. */
export function replayUrl(
  account: Account,
  type: StreamType,
  streamLabel: string | undefined,
): URL {
  const stream = type === 'rulestream' ? '{rulestream}' : type;
  const path = `replay/${stream}/accounts/{account}/publishers/{publisher}/{streamLabel}.json`;
  checkSilence(account, 'replay streams');
  return serviceUrl(account, 'replayStreamUrl', path, {
    purpose: 'replay streams',
    given: { streamLabel },
    needs: ['email', 'password'],
  });
}
