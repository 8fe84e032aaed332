import type { Endpoint } from './endpoints.js';
import type {
  DelayFault,
  Fault,
  JobFault,
  PlantedFault,
  RequestFault,
  StreamFault,
} from './fault-kinds.js';
import { checkFault, isJobFault, isRequestFault, isStreamFault } from './fault-table.js';

/** What one request meets: at most one delay and one other fault. */
export interface MatchedFaults {
  readonly delay: DelayFault | undefined;
  readonly other: Exclude<RequestFault, DelayFault> | undefined;
}

interface Planted {
  readonly id: number;
  readonly fault: Fault;
  skip: number;
  left: number;
  hits: number;
}

/** The faults that are planted, in order. The first that a request meets is the one that it gets. */
export class Faults {
  #planted: Planted[] = [];
  #lastId = 0;

  /** Throws an `OptionError` for a fault that could not happen. */
  plant(fault: Fault): PlantedFault {
    checkFault(fault);
    const { times = 1, skip = 0 } = fault;
    const left = times === 'always' ? Number.POSITIVE_INFINITY : times;
    const planted: Planted = { id: ++this.#lastId, fault: { ...fault }, skip, left, hits: 0 };
    this.#planted.push(planted);
    return describe(planted);
  }

  /** Those that have hits left. */
  list(): readonly PlantedFault[] {
    return this.#planted.map(describe);
  }

  /** Clears one, or all; says how many. */
  clear(id?: number): number {
    const kept = id === undefined ? [] : this.#planted.filter(planted => planted.id !== id);
    const cleared = this.#planted.length - kept.length;
    this.#planted = kept;
    return cleared;
  }

  /** What a request meets; counts as a hit. */
  match(endpoint: Endpoint, pathAndQuery: string): MatchedFaults {
    const take = (isWanted: (fault: Fault) => boolean): Fault | undefined =>
      this.#take(
        fault =>
          isWanted(fault) && isRequestFault(fault) && isAimedAt(fault, endpoint, pathAndQuery),
      );
    return {
      delay: take(fault => fault.kind === 'delay') as DelayFault | undefined,
      other: take(fault => fault.kind !== 'delay') as MatchedFaults['other'],
    };
  }

  /** What a job meets; counts as a hit. */
  matchJob<Kind extends JobFault['kind']>(
    kind: Kind,
    title: string,
    isWanted: (fault: JobFault & { readonly kind: Kind }) => boolean = () => true,
  ): (JobFault & { readonly kind: Kind }) | undefined {
    type Met = JobFault & { readonly kind: Kind };
    return this.#take(
      fault =>
        fault.kind === kind &&
        isJobFault(fault) &&
        (fault.title === undefined || fault.title === title) &&
        isWanted(fault as Met),
    ) as Met | undefined;
  }

  /** What a stream meets, one fault of each kind; counts as a hit. */
  matchStream<Kind extends StreamFault['kind']>(
    kind: Kind,
    endpoint: Endpoint,
    pathAndQuery: string,
    isWanted: (fault: StreamFault & { readonly kind: Kind }) => boolean = () => true,
  ): (StreamFault & { readonly kind: Kind }) | undefined {
    type Met = StreamFault & { readonly kind: Kind };
    return this.#take(
      fault =>
        fault.kind === kind &&
        isStreamFault(fault) &&
        isAimedAt(fault, endpoint, pathAndQuery) &&
        isWanted(fault as Met),
    ) as Met | undefined;
  }

  #take(isMet: (fault: Fault) => boolean): Fault | undefined {
    for (const planted of this.#planted) {
      if (!isMet(planted.fault)) continue;
      if (planted.skip > 0) {
        planted.skip--;
        continue;
      }
      planted.hits++;
      if (--planted.left <= 0) this.clear(planted.id);
      return planted.fault;
    }
    return undefined;
  }
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
  // Whoever plants faults on the pages of the console must be able to clear them there.
  const isOwn = fault.endpoint === undefined ? endpoint !== 'pages' : fault.endpoint === endpoint;
  return (
    endpoint !== 'control' &&
    isOwn &&
    (fault.path === undefined || pathAndQuery.includes(fault.path))
  );
}
