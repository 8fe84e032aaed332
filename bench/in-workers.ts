import { Worker } from 'node:worker_threads';

/**
 * Runs a module in one worker thread for each element of `data`, and waits until all threads have
 * ended.
 */
export async function inWorkers(module: URL, data: readonly unknown[]): Promise<void> {
  await Promise.all(
    data.map(
      workerData =>
        new Promise<void>((resolve, reject) => {
          new Worker(module, { workerData }).on('error', reject).on('exit', () => resolve());
        }),
    ),
  );
}
