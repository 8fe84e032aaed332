import type { Random } from '../random.js';
import type { WireFault, WireProxy } from './wire-proxy.js';

type Kind = WireFault['kind'];

/**
 * The duration of a short stall. It is longer than two heartbeats of a reader, but short enough for
 * the client to wait.
 */
const STALL_MS = [1_500, 3_000] as const;
/**
 * The fraction of stalls that are short. All other stalls last until the client has reconnected,
 * which takes about 10 s.
 */
const SHORT_STALLS = 0.8;

/**
 * Plants a fault at a byte that a run without faults also reaches. Returns a function that tells
 * whether the fault has taken effect.
 */
export function plantOnWire(
  proxy: WireProxy,
  kind: Kind,
  clean: WireProxy['passed'],
  random: Random,
): () => boolean {
  // A reader receives most of the bytes. A publisher sends most of them.
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
 * The shortest and the longest time for which the event loop is blocked, in ms. In this time, a
 * reader misses two heartbeats, and a server with a short ping interval disconnects the client. Such
 * a server sends its first ping within 2 s, then one every 0.5 s.
 */
const BLOCK_MS = [4_000, 4_500] as const;

/** Blocks the event loop without using the CPU. */
export function block(random: Random): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, random.whole(...BLOCK_MS));
}
