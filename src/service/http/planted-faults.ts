import { checkFault, isJobFault, isRequestFault, isStreamFault } from './fault-fields.js';
import type {
  DelayFault,
  Fault,
  JobFault,
  PlantedFault,
  RequestFault,
  StreamFault,
} from './fault-types.js';
import type { Endpoint } from './router.js';

/** The faults that hit one request: at most one delay and one other fault. */
export interface MatchedFaults {
  readonly delay: DelayFault | undefined;
  readonly other: Exclude<RequestFault, DelayFault> | undefined;
}

export interface KeptFault {
  readonly fault: Fault;
  readonly hits: number;
}

type OfKind<Kind extends Fault['kind']> = Fault & { readonly kind: Kind };

interface Planted {
  readonly id: number;
  readonly fault: Fault;
  skip: number;
  left: number;
  hits: number;
}

/**
 * The planted faults, in order. At most two hit a request: the first matching delay, and the first matching
 * fault of another kind.
 */
export class Faults {
  #planted: Planted[] = [];
  #lastId = 0;
  readonly #ids = new WeakMap<Fault, number>();
  readonly #effects = new Map<number, number>();

  /** Plants a fault. @throws OptionError for an invalid fault. */
  plant(fault: Fault): PlantedFault {
    checkFault(fault);
    return describe(this.#add(fault));
  }

  #add(fault: Fault, hits = 0): Planted {
    const { times = 1, skip = 0 } = fault;
    const left = times === 'always' ? Number.POSITIVE_INFINITY : times;
    const planted: Planted = { id: ++this.#lastId, fault: { ...fault }, skip, left, hits };
    this.#planted.push(planted);
    this.#ids.set(planted.fault, planted.id);
    return planted;
  }

  /** Returns the faults that can still hit. */
  list(): readonly PlantedFault[] {
    return this.#planted.map(describe);
  }

  /**
   * Returns how often a fault has changed a response. The number stays available after the last hit. A `flip`
   * or `content-cut` beyond the end of a response changes nothing. A `cut` or `stall` beyond the end counts
   * only if the client then cannot see that the HTTP message is complete. A hit of any other kind always
   * counts.
   */
  effects(id: number): number {
    return this.#effects.get(id) ?? 0;
  }

  /** @internal Records that a fault has changed a response. */
  tookEffect(fault: Fault): void {
    const id = this.#ids.get(fault);
    if (id !== undefined) this.#effects.set(id, this.effects(id) + 1);
  }

  /** @internal Returns the faults that can still hit. `replace` restores them. */
  kept(): readonly KeptFault[] {
    return this.#planted.map(({ fault, skip, left, hits }) => ({
      fault: { ...fault, skip, times: Number.isFinite(left) ? left : 'always' },
      hits,
    }));
  }

  /** @internal Replaces all faults. @throws OptionError */
  replace(faults: readonly KeptFault[] = []): void {
    for (const { fault } of faults) checkFault(fault);
    this.clear();
    for (const { fault, hits } of faults) this.#add(fault, hits);
  }

  /** Clears one fault or all faults. Returns the number of cleared faults. */
  clear(id?: number): number {
    const kept = id === undefined ? [] : this.#planted.filter(planted => planted.id !== id);
    const cleared = this.#planted.length - kept.length;
    this.#planted = kept;
    return cleared;
  }

  /** Returns the faults that hit a request, and counts the hits. */
  match(endpoint: Endpoint, pathAndQuery: string): MatchedFaults {
    const isAimed = (fault: Fault): fault is RequestFault =>
      isRequestFault(fault) && isAimedAt(fault, endpoint, pathAndQuery);
    return {
      delay: this.#take(fault => isAimed(fault) && fault.kind === 'delay'),
      other: this.#take(fault => isAimed(fault) && fault.kind !== 'delay'),
    };
  }

  /** Returns the first planted fault of this kind that hits the job, if any, and counts the hit. */
  matchJob<Kind extends JobFault['kind']>(
    kind: Kind,
    title: string,
    applies: (fault: OfKind<Kind>) => boolean = () => true,
  ): OfKind<Kind> | undefined {
    return this.#take(
      (fault): fault is OfKind<Kind> =>
        isOfKind(fault, kind) &&
        isJobFault(fault) &&
        (fault.title === undefined || fault.title === title) &&
        applies(fault),
    );
  }

  /** Returns the first planted fault of this kind that hits the stream, if any, and counts the hit. */
  matchStream<Kind extends StreamFault['kind']>(
    kind: Kind,
    endpoint: Endpoint,
    pathAndQuery: string,
    applies: (fault: OfKind<Kind>) => boolean = () => true,
  ): OfKind<Kind> | undefined {
    return this.#take(
      (fault): fault is OfKind<Kind> =>
        isOfKind(fault, kind) &&
        isStreamFault(fault) &&
        isAimedAt(fault, endpoint, pathAndQuery) &&
        applies(fault),
    );
  }

  #take<Taken extends Fault>(matches: (fault: Fault) => fault is Taken): Taken | undefined {
    for (const planted of this.#planted) {
      const { fault } = planted;
      if (!matches(fault)) continue;
      if (planted.skip > 0) {
        planted.skip--;
        continue;
      }
      planted.hits++;
      if (!DEPENDS_ON_BODY.includes(fault.kind)) this.tookEffect(fault);
      if (--planted.left <= 0) this.clear(planted.id);
      return fault;
    }
    return undefined;
  }
}

/** The kinds whose effect depends on the body. The code that sends the body calls `tookEffect` for them. */
const DEPENDS_ON_BODY: readonly Fault['kind'][] = ['cut', 'stall', 'flip', 'content-cut'];

function isOfKind<Kind extends Fault['kind']>(fault: Fault, kind: Kind): fault is OfKind<Kind> {
  return fault.kind === kind;
}

function describe({ id, fault, hits }: Planted): PlantedFault {
  return { id, hits, ...fault };
}

function isAimedAt(
  fault: RequestFault | StreamFault,
  endpoint: Endpoint,
  pathAndQuery: string,
): boolean {
  if (fault.kind === 'counts-timeout' && endpoint !== 'counts') return false;
  // A fault without an endpoint does not affect the console's pages, so that faults can be cleared there.
  const isAimed = fault.endpoint === undefined ? endpoint !== 'pages' : fault.endpoint === endpoint;
  return (
    endpoint !== 'control' &&
    isAimed &&
    (fault.path === undefined || pathAndQuery.includes(fault.path))
  );
}
