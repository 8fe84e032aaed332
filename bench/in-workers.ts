import { Worker } from 'node:worker_threads';

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
