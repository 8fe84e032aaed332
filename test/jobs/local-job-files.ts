import { afterEach } from 'vitest';
import { type JobFilesOptions, jobFiles } from '../../src/jobs/job-files.js';
import type { JobVerdict } from '../../src/jobs/job-verdict.js';
import { activities } from '../../src/operators/activities.js';
import { gunzip } from '../../src/operators/gunzip.js';
import { jsonLines } from '../../src/operators/json-lines.js';
import { type JobServer, type JobServerOptions, jobServer, UUID } from './job-server.js';

export const running: JobServer[] = [];

export async function start(options?: JobServerOptions): Promise<JobServer> {
  const served = await jobServer(options);
  running.push(served);
  return served;
}

interface Outcome {
  readonly lines: readonly string[];
  readonly verdicts: readonly JobVerdict[];
  readonly error: unknown;
}

/** Returns all delivered lines, even if the run fails. */
export async function download(served: JobServer, options: JobFilesOptions = {}): Promise<Outcome> {
  const lines: string[] = [];
  const verdicts: JobVerdict[] = [];
  const flow = activities()(
    jsonLines()(
      gunzip()(
        jobFiles(served.account(), UUID, { onVerdict: told => verdicts.push(told), ...options }),
      ),
    ),
  );
  try {
    for await (const activity of flow) lines.push(activity.raw.toString());
    return { lines, verdicts, error: undefined };
  } catch (error) {
    return { lines, verdicts, error };
  }
}

export function stopServersAfterTests(): void {
  afterEach(async () => {
    for (const served of running.splice(0)) await served.stop();
  });
}
