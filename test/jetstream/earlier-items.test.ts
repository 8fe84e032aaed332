import { describe, expect, it } from 'vitest';
import { EarlierItems } from '../../src/jetstream/earlier-items.js';

describe('the items that an earlier run has published', () => {
  it('count as a message once if the source delivers the first of them twice', () => {
    const items = new Map([
      ['a', { position: 0, bytes: 70 }],
      ['b', { position: 0, bytes: undefined }],
    ]);
    const earlier = new EarlierItems({ items, end: 2 }, 0);
    const passed = ['a', 'b', 'a', 'c'].map(id => earlier.pass(id));
    expect(passed).toEqual([{ bytes: 70 }, { bytes: undefined }, { bytes: undefined }, undefined]);
  });
});
