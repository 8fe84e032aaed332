import path from 'node:path';
import type { Activity } from 'millrace';
import type { FromJetStreamOptions, JetStreamGap } from 'millrace/jetstream';

export interface Libraries {
  readonly millrace: typeof import('millrace');
  readonly jetstream: typeof import('millrace/jetstream');
}

export interface ReaderAttempt extends Libraries {
  readonly options: FromJetStreamOptions;
  readonly out: string;
  /** Whether to use `dedupe()`, because the stream contains posts that two publishers have sent. */
  readonly dedupe?: boolean | undefined;
  readonly consume?: ((index: number, bytes: number) => Promise<void> | void) | undefined;
  readonly onGap?: ((gap: JetStreamGap) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

export async function readToFiles({
  millrace,
  jetstream,
  options,
  out,
  dedupe = false,
  consume = () => {},
  onGap,
  signal,
}: ReaderAttempt): Promise<void> {
  let index = 0;
  const posts = jetstream.fromJetStream({
    until: 'caught up',
    maxOutageMs: 60_000,
    ...options,
    onGap,
  });
  await millrace.pipeline(
    posts,
    dedupe ? millrace.dedupe() : millrace.filter<Activity>(() => true),
    millrace.tap<Activity>(({ byteLength }) => consume(index++, byteLength)),
    millrace.files({
      path: path.join(out, '{hour}.jsonl'),
      checkpoint: path.join(out, 'checkpoint.json'),
      commitIntervalMs: 0,
    }),
    { signal },
  );
}
