import { describe, expect, it } from 'vitest';
import type { Fault } from '../../../src/service/http/fault-types.js';
import { Faults } from '../../../src/service/http/planted-faults.js';
import { unchecked } from '../../unchecked.js';

describe('a fault to be planted', () => {
  it.each([
    [{}, 'fault.kind'],
    [null, 'fault.kind'],
    [{ kind: 'toString' }, 'fault.kind'],
    [{ kind: 'status' }, 'fault.status'],
    [{ kind: 'status', status: 200 }, 'fault.status'],
    [{ kind: 'status', status: 503, times: 0 }, 'fault.times'],
    [{ kind: 'status', status: 503, retryAfter: -1 }, 'fault.retryAfter'],
    [{ kind: 'status', status: 503, endpoint: 'serch' }, 'fault.endpoint'],
    [{ kind: 'status', status: 503, endpoint: 'control' }, 'fault.endpoint'],
    [{ kind: 'status', status: 503, afterBytes: 5 }, 'fault.afterBytes'],
    [{ kind: 'status', status: 503, toString: 5 }, 'fault.toString'],
    [{ kind: 'cut' }, 'fault.afterBytes'],
    [{ kind: 'cut', afterBytes: -1 }, 'fault.afterBytes'],
    [{ kind: 'cut', afterBytes: 1, end: 'softly' }, 'fault.end'],
    [{ kind: 'cut', afterBytes: 1, inCharacter: 1 }, 'fault.inCharacter'],
    [{ kind: 'stall', afterBytes: 1, forMs: Number.POSITIVE_INFINITY }, 'fault.forMs'],
    [{ kind: 'flip', atByte: 1.5 }, 'fault.atByte'],
    [{ kind: 'delay', ms: '5' }, 'fault.ms'],
    [{ kind: 'counts-timeout', buckets: 0 }, 'fault.buckets'],
  ])('causes an error if it is impossible: %j', (fault, option) => {
    expect(() => new Faults().plant(unchecked<Fault>(fault))).toThrow(
      expect.objectContaining({ code: 'ERR_OPTION', option }),
    );
  });

  it.each([
    [{ kind: 'status', status: 503, retryafter: 5 }, 'did you mean `fault.retryAfter`?'],
    [{ kind: 'cut', afterBytes: -1 }, '`fault.afterBytes` must be a whole number of at least 0'],
  ])('causes an error with a hint if it is %j', (fault, message) => {
    expect(() => new Faults().plant(unchecked<Fault>(fault))).toThrow(message);
  });
});
