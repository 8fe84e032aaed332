import { Activity, Flow } from 'millrace';

/** Creates posts whose ids are too large for a JavaScript number to represent exactly. */
export function numberedPosts(from: number, to: number): Activity[] {
  return Array.from({ length: Math.max(0, to - from) }, (_, index) => numberedPost(from + index));
}

export function numberedId(number: number): string {
  return String(1_752_000_000_000_000_001n + BigInt(number) * 3n);
}

export function numberedIds(total: number): string[] {
  return Array.from({ length: total }, (_, number) => numberedId(number));
}

function numberedPost(number: number): Activity {
  return new Activity(
    Buffer.from(
      `{"created_at":"Wed Jan 31 23:59:00 +0000 2024",\n "id":${numberedId(number)},"text":"é ${number}"}`,
    ),
  );
}

export interface NumberedOptions {
  readonly total: number;
  /** The number of posts in a batch. Each batch ends with a cursor. @default 50 */
  readonly size?: number;
  readonly before?: (from: number) => unknown;
}

export function numberedSource({ total, size = 50, before }: NumberedOptions): Flow<Activity> {
  return new Flow(
    async function* ({ resume, signal }) {
      for (let from = Number(resume?.at ?? 0); from < total; from += size) {
        await before?.(from);
        signal.throwIfAborted();
        const to = Math.min(total, from + size);
        yield { items: numberedPosts(from, to), cursor: { at: to } };
      }
    },
    undefined,
    [{ step: 'numbers', total }],
  );
}
