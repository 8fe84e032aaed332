import { describe, expect, it } from 'vitest';
import { MessageRate } from '../../../src/service/http/stream-status.js';

describe('the message rate of a stream', () => {
  const started = () => {
    const clock = { ms: 5_000 };
    return { clock, rate: new MessageRate(() => clock.ms) };
  };

  it('is the average of the last five whole seconds', () => {
    const { clock, rate } = started();
    for (let second = 0; second < 20; second++) {
      for (let i = 0; i < second; i++) rate.add();
      clock.ms += 1_000;
    }
    // The last five seconds had 15, 16, 17, 18 and 19 messages.
    expect(rate.perSecond()).toBe(17);
    for (let i = 0; i < 100; i++) rate.add();
    expect(rate.perSecond()).toBe(17);
    clock.ms += 1_000;
    expect(rate.perSecond()).toBe((16 + 17 + 18 + 19 + 100) / 5);
  });

  it('is the average since its start if that is less than five seconds ago', () => {
    const { clock, rate } = started();
    for (let i = 0; i < 10; i++) rate.add();
    expect(rate.perSecond()).toBe(0);
    clock.ms += 1_000;
    expect(rate.perSecond()).toBe(10);
    clock.ms += 1_000;
    expect(rate.perSecond()).toBe(5);
  });

  it('is zero after a pause of any length', () => {
    for (const pause of [6_000, 7_000, 1_000_000]) {
      const { clock, rate } = started();
      for (let i = 0; i < 10; i++) rate.add();
      clock.ms += pause;
      expect(rate.perSecond()).toBe(0);
      rate.add();
      clock.ms += 1_000;
      expect(rate.perSecond()).toBe(0.2);
    }
  });
});
