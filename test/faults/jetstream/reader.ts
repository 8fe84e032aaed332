import path from 'node:path';
import type { Activity } from 'millrace';
import type { FromJetStreamOptions, JetStreamGap } from 'millrace/jetstream';

/** The library, and its entry for JetStream. */
export interface Libraries {
  readonly millrace: typeof import('millrace');
  readonly jetstream: typeof import('millrace/jetstream');
}

/** What one run of a reader's script gets. Runs in this process and in children that are killed. */
export interface ReaderAttempt extends Libraries {
  readonly options: FromJetStreamOptions;
  /** Of the outputs. */
  readonly out: string;
  /** Whether posts are there that two publishers have sent. */
  readonly dedupe?: boolean | undefined;
  /** Called for each post on its way to the files. */
  readonly consume?: ((index: number, bytes: number) => Promise<void> | void) | undefined;
  readonly onGap?: ((gap: JetStreamGap) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A user's script that reads a stream into files: run again, it goes on. */
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
