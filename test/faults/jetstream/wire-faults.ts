import type { Random } from '../random.js';
import type { WireFault, WireProxy } from './wire-proxy.js';

type Kind = WireFault['kind'];

/** Short enough that the client waits for its end; longer than two heartbeats of a reader. */
const STALL_MS = [1_500, 3_000] as const;
/** The others stall until the client has connected again, which takes it some ten seconds. */
const SHORT_STALLS = 0.8;

/** Plants a fault at a byte that a run without faults has passed. Returns whether it took effect. */
export function plantOnWire(
  proxy: WireProxy,
  kind: Kind,
  clean: WireProxy['passed'],
  random: Random,
): () => boolean {
  // Most is sent from a reader's server, and to a publisher's.
  const [most, other] =
    clean['to client'] > clean['to server']
      ? (['to client', 'to server'] as const)
      : (['to server', 'to client'] as const);
  const direction = random.chance(0.7) ? most : other;
  const forMs = random.chance(SHORT_STALLS) ? random.whole(...STALL_MS) : undefined;
  proxy.plant({
    kind,
    direction,
    afterBytes: random.whole(0, clean[direction] - 1),
    ...(kind === 'stall' && { forMs }),
    ...(kind === 'split' && { maxPiece: random.pick([1, 2, 3, 7]) }),
  });
  const isConnectedAgain = () => proxy.isHit && proxy.connections > 1;
  if (kind === 'split') return () => proxy.splits > 0;
  if (kind !== 'stall' || forMs === undefined) return isConnectedAgain;
  return () => proxy.held > 0;
}

/**
 * Longer than two heartbeats of a reader, and than an impatient server waits: it sends the first ping after up to 2 s,
 * and others every half second.
 */
const BLOCK_MS = [4_000, 4_500] as const;

/** Blocks the event loop, without using a CPU. */
export function block(random: Random): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, random.whole(...BLOCK_MS));
}
