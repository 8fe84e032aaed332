import type { Endpoint, Fault as ServiceFault } from 'millrace/service';
import type { Random } from '../random.js';
import { BURST_EVENTS } from './compliance.js';
import type { Row } from './rows.js';
import { type Clean, PATHS, type Sent } from './sent.js';
import type { World } from './world.js';

export interface AimSetting {
  readonly row: Row;
  readonly world: World;
  readonly random: Random;
  readonly clean: Clean;
}

/**
 * A request of a run without a fault. With these values, a fault can be planted at the same request
 * of another run.
 */
export interface Aimed {
  readonly endpoint: Endpoint;
  /** The smallest response that the service sends to the request. */
  readonly sent: Sent;
  readonly skip: number;
  /** A part of the address that only this request has, if there is one. */
  readonly path: string | undefined;
}

export function aim({ row, random, clean }: AimSetting, accepts: (sent: Sent) => boolean): Aimed {
  const fitting = row.endpoints.flatMap(endpoint => {
    const all = clean.sent.get(endpoint) ?? [];
    const sent = all.filter(accepts);
    return sent.length === 0 ? [] : [{ endpoint, all, sent }];
  });
  if (fitting.length === 0) throw new Error(`No request of ${row.name} fits the fault`);
  const { endpoint, all, sent } = random.pick(fitting);
  // The time ranges of replays depend on the times of the events, so the fault may hit any request.
  if (row.name === 'compliance')
    return { endpoint, sent: inAnyRun(smallest(sent)), skip: 0, path: PATHS[endpoint] };
  const one = random.pick(sent);
  const isAlone = all.every(other => other === one || other.address !== one.address);
  if (isAlone) return { endpoint, sent: one, skip: 0, path: one.address };
  // All pages have the same address, so the position of the request identifies it. In these two
  // pipelines, requests may come in any order, so the fault must fit even the smallest response.
  const isInOrder = row.name !== 'merge' && row.name !== 'engagement';
  const skip = all.indexOf(one);
  return { endpoint, sent: isInOrder ? one : smallest(sent), skip, path: undefined };
}

/**
 * Limits a response of the compliance stream to the messages that every run receives. The number of
 * events that are sent before the stream connects differs between runs. A replay delivers these
 * events.
 */
function inAnyRun({ messages, ...sent }: Sent): Sent {
  return { ...sent, messages: messages.slice(0, BURST_EVENTS) };
}

function smallest(sent: readonly Sent[]): Sent {
  return sent.toSorted((a, b) => a.records - b.records || a.bytes - b.bytes)[0] as Sent;
}

interface Planted {
  /** Returns how often the fault has happened. If it hits several requests, each of them counts. */
  hits(): number;
  lift(): void;
}

export function inBody(
  setting: AimSetting,
  make: (byte: number, aimed: Aimed) => object,
  accepts: (sent: Sent) => boolean = ({ bytes }) => bytes > 0,
): Planted {
  const aimed = aim(setting, accepts);
  const { endpoint, sent, skip, path } = aimed;
  const fault = make(setting.random.whole(0, sent.bytes - 1), aimed);
  return plant(setting, { endpoint, skip, path, ...fault } as ServiceFault);
}

export function fromRequest(
  setting: AimSetting,
  make: (endpoint: Endpoint) => object,
  { first = 0 } = {},
): Planted & { readonly skip: number } {
  const { row, random, clean } = setting;
  const count = (endpoint: Endpoint) => clean.sent.get(endpoint)?.length ?? 0;
  const endpoint = random.pick(row.endpoints.filter(one => count(one) > first));
  // The compliance stream is a single long request, so the fault starts with it.
  const skip = row.name === 'compliance' ? 0 : random.whole(first, count(endpoint) - 1);
  const fault = { endpoint, skip, ...make(endpoint) } as ServiceFault;
  return { skip, ...plant(setting, fault) };
}

export function plant({ world }: Pick<AimSetting, 'world'>, fault: ServiceFault): Planted {
  const { faults } = world.service;
  const { id } = faults.plant(fault);
  const { times = 1 } = fault;
  const whole = times === 'always' ? 1 : times;
  return {
    hits: () => Math.floor(faults.effects(id) / whole),
    lift: () => {
      faults.clear(id);
    },
  };
}

export function contentCut(random: Random, { messages }: Sent) {
  // Most events are ASCII, so they contain no multi-byte character to cut.
  const lastWide = messages.findLastIndex(message => /[^\0-\x7f]/.test(message));
  const within = random.pick(
    lastWide === -1
      ? (['message', 'boundary'] as const)
      : (['message', 'character', 'boundary'] as const),
  );
  const last = within === 'character' ? lastWide : messages.length - 1;
  return { kind: 'content-cut' as const, afterMessages: random.whole(0, last), within };
}

/**
 * Waits for the first request that the service refuses with a 429.
 * @returns A function that returns how long after the refusal the same path was requested again, by
 * the service's clock. It returns 0 if the path was not requested again.
 */
export function waitAfter429({ service }: World): () => number {
  let refused: { readonly path: string | undefined; readonly at: number } | undefined;
  let repeatedAt: number | undefined;
  service.on('request', ({ url }, response) => {
    const path = url?.split('?')[0];
    const at = service.clock.now();
    if (refused?.path === path) repeatedAt ??= at;
    response.on('finish', () => {
      if (response.statusCode === 429) refused ??= { path, at };
    });
  });
  return () => (refused === undefined || repeatedAt === undefined ? 0 : repeatedAt - refused.at);
}
