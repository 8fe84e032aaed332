import { keptConnects, keptDownload, keptRewrites, keptTokens } from './kept-by-clients.js';
import { keptGrants, keptIndex, keptJobs, keptNonces, keptRules } from './kept-by-service.js';
import { keptByThreads, keptOutputs, SINKS, THREADED } from './kept-by-sinks.js';
import type { KeptFiles } from './kept-files.js';
import type { DiskFault } from './sweep-disk.js';

export type OpenKeptFiles = (library: URL) => Promise<KeptFiles & { close?(): Promise<void> }>;

/**
 * Every kind of file on which disk faults are tried, except for LMDB's files, which are in
 * `KEPT_BY_LMDB`.
 */
export const KEPT: ReadonlyMap<string, OpenKeptFiles> = new Map<string, OpenKeptFiles>([
  ...SINKS.map((name): [string, OpenKeptFiles] => [name, library => keptOutputs(library, name)]),
  ...THREADED.map((name): [string, OpenKeptFiles] => [
    name,
    library => keptByThreads(library, name),
  ]),
  ['tokens', keptTokens],
  ['connects', keptConnects],
  ['download', keptDownload],
  ['rewrites', keptRewrites],
  ['rules', keptRules],
  ['grants', keptGrants],
  ['nonces', keptNonces],
  ['jobs', keptJobs],
  ['index', keptIndex],
]);

/** Files that the library only writes, so failing reads are not tried on them. */
const NOT_READ: readonly string[] = [...SINKS, ...THREADED, 'rewrites'];

export function faultsOf(name: string): readonly DiskFault[] {
  const faults: readonly DiskFault[] = ['kill', 'power', 'ENOSPC', 'EIO'];
  return NOT_READ.includes(name) ? faults : [...faults, 'unreadable'];
}
