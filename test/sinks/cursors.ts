import { Flow } from '../../src/flow/flow.js';

export interface PlacesOptions {
  readonly cursorEvery?: number;
  readonly onOpen?: (from: number) => void;
}

export function places<T>(
  batches: readonly (readonly T[])[],
  { cursorEvery = 1, onOpen = () => {} }: PlacesOptions = {},
): Flow<T> {
  return new Flow<T>(async function* ({ resume }) {
    const from = resume === undefined ? 0 : Number(resume.next);
    onOpen(from);
    for (let at = from; at < batches.length; at++)
      yield {
        items: batches[at] as readonly T[],
        ...((at + 1) % cursorEvery === 0 ? { cursor: { next: at + 1 } } : {}),
      };
  });
}
