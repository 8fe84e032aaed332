/** One mistake in the library, and the cells that have to notice it. */
export interface Mutant {
  readonly name: string;
  /** What the library then does. */
  readonly mistake: string;
  /** A source file below `src`, without its extension. */
  readonly file: string;
  /** Text that the file has once, in TypeScript. */
  readonly from: string;
  readonly to: string;
  /** Part and cell, tried in this order until one fails. */
  readonly cells: readonly string[];
}

export const MUTANTS: readonly Mutant[] = [
  {
    name: 'checkpoint before output',
    mistake: 'writes the checkpoint with the new cursor before the outputs are on disk',
    file: 'sinks/output/committer',
    from: 'for (const file of await settleAndSync(members))',
    to: 'await this.#write(state); for (const file of await settleAndSync(members))',
    cells: ['disks files/kill', 'matrix search/kill-9-at-a-disk-call'],
  },
  {
    name: 'no truncation',
    mistake: 'goes on from a checkpoint without cutting off what was written after it',
    file: 'sinks/output/committer',
    from: 'await cutBack(fs, part, counts.bytes)',
    to: 'await undefined',
    cells: ['calls files/other-order'],
  },
  {
    name: 'cursor ahead of items',
    mistake: 'commits the cursor of a batch before its items are written',
    file: 'sinks/output/file-writer',
    from: 'const rest = isQueued || scanned === undefined ? items : await fetchItems(scanned);',
    to: 'if (cursor !== undefined) await reached(cursor); const rest = isQueued || scanned === undefined ? items : await fetchItems(scanned);',
    cells: ['disks files/kill', 'matrix search/kill-9-at-a-disk-call'],
  },
  {
    name: 'outputs not synced',
    mistake: 'does not sync the outputs before the checkpoint',
    file: 'sinks/output/part-files',
    from: 'open.datasync()',
    to: 'Promise.resolve()',
    cells: ['disks files/power'],
  },
  {
    name: 'renamed before synced',
    mistake: 'renames a new file over the old one before its bytes are on disk',
    file: 'storage/replace-file',
    from: 'await handle.sync();',
    to: '',
    cells: ['disks tokens/power'],
  },
  {
    name: 'new folders not synced',
    mistake: 'does not sync the names of new folders',
    file: 'storage/make-folder',
    from: 'await syncFolder(above, options?.fs)',
    to: 'await undefined',
    cells: ['disks tokens/power'],
  },
  {
    name: 'connections not synced',
    mistake: 'connects before the time of the connection is on disk',
    file: 'replay/connect-log',
    from: 'await handle.datasync();',
    to: ';',
    cells: ['disks connects/power'],
  },
  {
    name: 'swallowed disk error',
    mistake: 'ignores the errors of syncing and renaming outputs',
    file: 'sinks/output/part-files',
    from: 'await this.#limit(() => work(value)).catch(error => failures.push(error));',
    to: 'await this.#limit(() => work(value)).catch(() => {});',
    cells: ['disks files/EIO', 'matrix search/failing-disk'],
  },
  {
    name: 'lock ignored',
    mistake: 'takes the lock of a process that is alive',
    file: 'storage/lock',
    from: "if (life === 'alive')",
    to: "if (life === 'never')",
    cells: ['calls files/second-run'],
  },
  {
    name: 'end taken for complete',
    mistake: 'takes the end of a connection for the end of a replay',
    file: 'replay/replay-connections',
    from: 'machine.cut(now, timing.random())',
    to: "confirmed = machine.ended(range, { outcome: 'completed', minutesFailed: [] }, activities, now, timing.random())",
    cells: ['matrix replay/early-end', 'matrix replay/reset'],
  },
  {
    name: 'failed minutes ignored',
    mistake: 'confirms minutes that the service says have failed',
    file: 'replay/replay-machine',
    from: "if (outcome === 'completed')",
    to: "if (outcome !== 'failed')",
    cells: ['calls replay/failed-minutes'],
  },
  {
    name: 'count not compared',
    mistake: 'does not compare the posts of a replay with the count that the service states',
    file: 'replay/replay-machine',
    from: 'end.activityCount !== undefined && end.activityCount !== received',
    to: 'false',
    cells: ['matrix replay/sums-that-lie'],
  },
  {
    name: 'no connect budget',
    mistake: 'connects to a replay more often than the service allows',
    file: 'replay/replay-machine',
    from: 'nextConnectAt(this.#connects, this.#rates, now)',
    to: 'now',
    cells: ['calls replay/connection-limit'],
  },
  {
    name: 'no dedupe',
    mistake: 'passes every post in dedupe()',
    file: 'operators/dedupe',
    from: 'batch.items.filter(item => ids.add(String(key(item))))',
    to: 'batch.items.filter(() => true)',
    cells: ['matrix search/repeated-records'],
  },
  {
    name: 'lost last page',
    mistake: 'drops the last page of a search',
    file: 'search/pages',
    from: 'yield { ...page, window: fixed };',
    to: 'if (token !== undefined) yield { ...page, window: fixed };',
    cells: ['matrix search/reset'],
  },
  {
    name: 'next token ignored',
    mistake: 'requests the first page again and again',
    file: 'search/pages',
    from: 'token === undefined ? params : { ...params, next: token }',
    to: 'params',
    cells: ['matrix search/reset'],
  },
  {
    name: 'Retry-After ignored',
    mistake: 'retries a 429 before the service allows it',
    file: 'http/retry',
    from: '|| error.retryAfterMs === undefined',
    to: '|| true',
    cells: ['matrix search/429'],
  },
  {
    name: 'ids through numbers',
    mistake: 'writes the id of a post as a number has it',
    file: 'tables/post-columns',
    from: "'Id of the post, digits', ({ activity }) => activity.id",
    to: "'Id of the post, digits', ({ activity }) => String(Number(activity.id))",
    cells: ['matrix csv/reset'],
  },
  {
    name: 'gzip trailer not checked',
    mistake: 'takes a file of a job that is cut short for whole',
    file: 'gzip/inflate-stream',
    from: "gunzip.once('end', done).end()",
    to: 'done()',
    cells: ['calls jobs.download/trailer-cut'],
  },
  {
    name: 'expired addresses kept',
    mistake: 'requests an address that has expired instead of listing the files again',
    file: 'jobs/fetch-job-file',
    from: 'await list.renew(listing, signal)',
    to: 'await undefined',
    cells: ['matrix job-files/expired-addresses'],
  },
  {
    name: 'create sent twice',
    mistake: 'sends the creation of a job again without looking for the job first',
    file: 'jobs/send-once',
    from: 'const found = outcomeUnknown ? await findResult() : undefined;',
    to: 'const found = undefined;',
    cells: ['calls jobs.create/lost-answer'],
  },
];
