import { describe, expect, it } from 'vitest';
import { Progress } from '../../src/flow/progress.js';
import { ProgressParts } from '../../src/flow/progress-parts.js';

function partsOf(count: number) {
  const progress = new Progress();
  return { progress, parts: new ProgressParts(progress, count) };
}

describe('the progress of several sources', () => {
  it('has the mean of their fractions, of which that of a source not yet open is 0', () => {
    const { progress, parts } = partsOf(4);
    parts.of(0)!.fraction = 0.5;
    expect(progress.fraction).toBe(0.125);
    parts.done(0);
    expect(progress.fraction).toBe(0.25);
    parts.of(1)!.fraction = 1;
    expect(progress.fraction).toBe(0.5);
  });

  it('has no fraction while that of an open source is unknown', () => {
    const { progress, parts } = partsOf(2);
    parts.of(0)!.fraction = 0.5;
    parts.of(1);
    expect(progress.fraction).toBeUndefined();
    parts.done(1);
    expect(progress.fraction).toBe(0.75);
  });

  it('shows each source its own fraction', () => {
    const { parts } = partsOf(2);
    const [first, second] = [parts.of(0)!, parts.of(1)!];
    first.fraction = 0.25;
    expect(first.fraction).toBe(0.25);
    expect(second.fraction).toBeUndefined();
  });

  it('counts what any of them counts', () => {
    const { progress, parts } = partsOf(2);
    const [first, second] = [parts.of(0)!, parts.of(1)!];
    first.received += 2;
    second.received += 3;
    second.drop('filter', 4);
    expect(progress.counts()).toMatchObject({ received: 5, dropped: new Map([['filter', 4]]) });
  });

  it('does not take the time that one source expects to end at for that of all', () => {
    const { progress, parts } = partsOf(2);
    parts.of(0)!.endsAt = 5_000;
    expect(progress.leftMs).toBeUndefined();
  });

  it('is nothing where the run shows none', () => {
    const parts = new ProgressParts(undefined, 2);
    expect(parts.of(0)).toBeUndefined();
    parts.done(0);
  });
});
