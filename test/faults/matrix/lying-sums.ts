import type { Fault } from './fault.js';
import type { Tampering } from './fault-proxy.js';
import { PATHS } from './sent.js';
import { aim, fromRequest, plant } from './service-fault.js';
import { COMPLIANCE_SINCE_MS, LATE_MS, NOW, REPLAY_CHUNK_MS, WINDOWS } from './windows.js';

/** Makes the service report wrong numbers, or a time range other than the requested one. */
export const lieAboutSums: Fault['plant'] = setting => {
  const { row, world, random } = setting;
  const by = random.pick([-2, -1, 1, 5]);
  if (row.name === 'replay') {
    const planted = fromRequest(setting, () => ({ kind: 'wrong-count', by, times: 'always' }));
    const { from, to } = WINDOWS.replay;
    const lies = { from: from + planted.skip * REPLAY_CHUNK_MS, to };
    return { ...planted, gap: { reason: 'unverified', minutes: () => lies } };
  }
  if (row.name === 'compliance') {
    // The stream itself reports no numbers, but the replays that fill its gaps do.
    const planted = plant(setting, { kind: 'wrong-count', by, times: 'always' });
    const from = NOW - COMPLIANCE_SINCE_MS - LATE_MS;
    const minutes = () => ({ from, to: world.service.clock.now() });
    return { ...planted, gap: { reason: 'unverified', minutes } };
  }
  if (row.name === 'search' || row.name === 'counts') {
    const { endpoint, skip } = aim(setting, () => true);
    const isSum = row.name === 'counts' && random.chance(0.5);
    let hits = 0;
    const tampering: Tampering = {
      path: PATHS[endpoint] ?? '',
      skip,
      times: Number.POSITIVE_INFINITY,
      document: text => {
        const changed = isSum
          ? text.replace(/"totalCount":(\d+)/, (_, sum) => `"totalCount":${Number(sum) + by}`)
          : text.replace(/"toDate":"(\d{11})\d"/, `"toDate":"20240514000${random.whole(1, 9)}"`);
        if (changed !== text) hits++;
        return changed;
      },
    };
    world.proxy?.tamperings.push(tampering);
    return {
      hits: () => hits,
      lift: () => {
        tampering.times = 0;
      },
    };
  }
  const field = random.pick(['urlCount', 'totalFileSizeBytes', 'activityCount'] as const);
  const { id } = world.service.faults.plant({
    kind: 'wrong-totals',
    times: 'always',
    [field]: by,
  });
  return {
    hits: () => world.service.faults.effects(id),
    lift: () => {
      world.service.faults.clear(id);
    },
  };
};
