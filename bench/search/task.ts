import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Task {
  readonly address: string;
  readonly fromDate: string;
  readonly toDate: string;
  readonly slices: number;
  readonly pageMs: number;
}

export interface Done {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly posts: number;
  readonly ids: string;
}

export function onTask(pages: (task: Task) => AsyncIterable<readonly string[]>): void {
  process.on('message', async (task: Task) => {
    const before = performance.now();
    const cpu = process.cpuUsage();
    const sum = createHash('sha256');
    let posts = 0;
    for await (const ids of pages(task)) {
      posts += ids.length;
      sum.update(ids.join());
      if (task.pageMs > 0) await sleep(task.pageMs);
    }
    const { user, system } = process.cpuUsage(cpu);
    const seconds = (performance.now() - before) / 1_000;
    const done: Done = {
      seconds,
      cpuSeconds: (user + system) / 1e6,
      posts,
      ids: sum.digest('hex'),
    };
    process.send?.(done);
  });
}
