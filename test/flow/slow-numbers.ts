import { Flow } from '../../src/flow/flow.js';

export const turn = () => new Promise<void>(resolve => setImmediate(resolve));

export const range = (length: number) => Array.from({ length }, (_, index) => index);

export function slow(length: number): { readonly flow: Flow<number>; readonly state: State } {
  const state: State = { taken: 0, closed: false };
  const flow = new Flow<number>(async function* () {
    try {
      for (const item of range(length)) {
        await turn();
        state.taken++;
        yield { items: [item] };
      }
    } finally {
      state.closed = true;
    }
  });
  return { flow, state };
}

export interface State {
  taken: number;
  closed: boolean;
}
