import type { Expected } from './bare-client.js';

export type Found = readonly (readonly [key: string, hash: string])[];

export function mustEqual(found: Found, expected: Expected): void {
  mustBePart(found, expected);
  const keys = new Set(found.map(([key]) => key));
  const lost = [...expected.keys()].filter(key => !keys.has(key));
  if (lost.length > 0)
    throw new Error(`Lost ${lost.length} of ${expected.size}: ${lost.slice(0, 5).join(', ')}`);
}

export function mustBePart(found: Found, expected: Expected): void {
  const keys = new Set<string>();
  for (const [key, hash] of found) {
    if (keys.has(key)) throw new Error(`Twice: ${key}`);
    keys.add(key);
    const right = expected.get(key);
    if (right === undefined) throw new Error(`Not expected: ${key}`);
    if (right !== hash) throw new Error(`Changed: ${key}`);
  }
}
