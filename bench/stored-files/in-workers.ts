import { Worker } from 'node:worker_threads';

/** Runs a module of this folder in a worker thread for each of these data, until all have ended. */
export async function inWorkers(module: string, data: readonly unknown[]): Promise<void> {
  await Promise.all(
    data.map(
      workerData =>
        new Promise<void>((resolve, reject) => {
          new Worker(new URL(module, import.meta.url), { workerData })
            .on('error', reject)
            .on('exit', () => resolve());
        }),
    ),
  );
}
