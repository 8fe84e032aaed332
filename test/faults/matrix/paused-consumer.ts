import { setTimeout as sleep } from 'node:timers/promises';
import type { Planted } from './fault.js';
import { type AimSetting, inBody } from './service-fault.js';

/** Each item takes so long, so that the next page, file or chunk is on its way before the consumer needs it. */
const PACE_MS = 5;

/**
 * A stall, and a consumer that pauses once it has taken effect, for longer than a connection may be silent. It counts
 * if the connection is still stalled when the pause begins.
 */
export function stallWhilePaused(setting: AimSetting, silenceMs: number): Planted {
  const { row, world, clean } = setting;
  // The listing of a job comes before its files, and is not consumed.
  const sources = row.endpoints
    .filter(endpoint => endpoint !== 'jobs')
    .map(endpoint => clean.sent.get(endpoint) ?? []);
  const [sent = []] = sources;
  // A single source delivers nothing before its first page, file or chunk has arrived.
  const first = sources.length === 1 && sent.length > 1 ? sent[0] : undefined;
  const stall = inBody(
    setting,
    afterBytes => ({ kind: 'stall', afterBytes }),
    one => one.bytes > 0 && one !== first && sources.some(all => all.includes(one)),
  );
  let isGivenUp = false;
  world.service.on('request', (_, response) => {
    response.on('close', () => {
      if (stall.hits() > 0 && !response.writableFinished) isGivenUp = true;
    });
  });
  let hits = 0;
  return {
    hits: () => hits,
    account: { timeouts: { silenceMs } },
    consume: async () => {
      await sleep(PACE_MS);
      if (hits > 0 || stall.hits() === 0 || isGivenUp) return;
      hits++;
      await sleep(2 * silenceMs);
    },
    lift: stall.lift,
  };
}
