import path from 'node:path';
import type { Activity } from 'millrace';
import type { FromJetStreamOptions, JetStreamGap } from 'millrace/jetstream';

/** The library and its JetStream entry point. */
export interface Libraries {
  readonly millrace: typeof import('millrace');
  readonly jetstream: typeof import('millrace/jetstream');
}

/** The input of one run of a reader's script, in this process or in a child that is killed. */
export interface ReaderAttempt extends Libraries {
  readonly options: FromJetStreamOptions;
  /** The folder of the outputs. */
  readonly out: string;
  /** Whether to use `dedupe()`, because the stream contains posts that two publishers have sent. */
  readonly dedupe?: boolean | undefined;
  /** Called for each post before it reaches the files. */
  readonly consume?: ((index: number, bytes: number) => Promise<void> | void) | undefined;
  readonly onGap?: ((gap: JetStreamGap) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The script of a user, which reads a stream into files. A later run resumes. */
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
