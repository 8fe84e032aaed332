import { pathToFileURL } from 'node:url';
import type { Setting } from './part.js';

interface Modules {
  readonly 'post/activity': typeof import('../../src/post/activity.js');
  readonly 'post/compliance-event': typeof import('../../src/post/compliance-event.js');
  readonly 'post/in-stream-message': typeof import('../../src/post/in-stream-message.js');
  readonly 'post/posted-at': typeof import('../../src/post/posted-at.js');
  readonly 'compliance/apply-compliance': typeof import('../../src/compliance/apply-compliance.js');
  readonly 'compliance/tombstones': typeof import('../../src/compliance/tombstones.js');
  readonly 'base/errors': typeof import('../../src/base/errors.js');
  readonly 'flow/operator-state': typeof import('../../src/flow/operator-state.js');
  readonly 'gzip/inflate-stream': typeof import('../../src/gzip/inflate-stream.js');
  readonly 'gzip/inflate-whole': typeof import('../../src/gzip/inflate-whole.js');
  readonly 'gzip/zstd': typeof import('../../src/gzip/zstd.js');
  readonly 'http/account': typeof import('../../src/http/account.js');
  readonly 'http/request': typeof import('../../src/http/request.js');
  readonly 'http/retry': typeof import('../../src/http/retry.js');
  readonly 'base/secret': typeof import('../../src/base/secret.js');
  readonly index: typeof import('../../src/index.js');
  readonly 'jetstream/index': typeof import('../../src/jetstream/index.js');
  readonly 'jetstream/message': typeof import('../../src/jetstream/message.js');
  readonly 'jobs/check-job-file': typeof import('../../src/jobs/check-job-file.js');
  readonly 'jobs/download-job': typeof import('../../src/jobs/download-job.js');
  readonly 'jobs/download-folder': typeof import('../../src/jobs/download-folder.js');
  readonly 'jobs/job-files': typeof import('../../src/jobs/job-files.js');
  readonly 'jobs/parse-job': typeof import('../../src/jobs/parse-job.js');
  readonly 'json/element-splitter': typeof import('../../src/json/element-splitter.js');
  readonly 'json/exact-ids': typeof import('../../src/json/exact-ids.js');
  readonly 'json/line-framer': typeof import('../../src/json/line-framer.js');
  readonly 'operators/gunzip': typeof import('../../src/operators/gunzip.js');
  readonly 'replay/connect-log': typeof import('../../src/replay/connect-log.js');
  readonly 'replay/replay-cursor': typeof import('../../src/replay/replay-cursor.js');
  readonly 'replay/replay-spool': typeof import('../../src/replay/replay-spool.js');
  readonly 'rules/rules': typeof import('../../src/rules/rules.js');
  readonly 'search/query-cursor': typeof import('../../src/search/query-cursor.js');
  readonly 'service/archive/folder/folder-archive': typeof import('../../src/service/archive/folder/folder-archive.js');
  readonly 'service/http/check-access': typeof import('../../src/service/http/check-access.js');
  readonly 'service/http/router': typeof import('../../src/service/http/router.js');
  readonly 'service/index': typeof import('../../src/service/index.js');
  readonly 'service/jobs/data-files': typeof import('../../src/service/jobs/data-files.js');
  readonly 'service/jobs/generate-files': typeof import('../../src/service/jobs/generate-files.js');
  readonly 'service/jobs/job-store': typeof import('../../src/service/jobs/job-store.js');
  readonly 'service/replay/stream-rules': typeof import('../../src/service/replay/stream-rules.js');
  readonly 'service/sample/sample-posts': typeof import('../../src/service/sample/sample-posts.js');
  readonly 'service/search/check-search-request': typeof import('../../src/service/search/check-search-request.js');
  readonly 'service/usage/usage-meter': typeof import('../../src/service/usage/usage-meter.js');
  readonly 'service/users/signed-requests': typeof import('../../src/service/users/signed-requests.js');
  readonly 'service/users/applications': typeof import('../../src/service/users/applications.js');
  readonly 'service/users/grants': typeof import('../../src/service/users/grants.js');
  readonly 'service/users/nonces': typeof import('../../src/service/users/nonces.js');
  readonly 'sinks/commit/checkpoint-file': typeof import('../../src/sinks/commit/checkpoint-file.js');
  readonly 'sinks/write/safe-name': typeof import('../../src/sinks/write/safe-name.js');
  readonly 'storage/file-system': typeof import('../../src/storage/file-system.js');
  readonly 'storage/open-lmdb': typeof import('../../src/storage/open-lmdb.js');
  readonly 'base/time': typeof import('../../src/base/time.js');
  readonly 'users/callback-server': typeof import('../../src/users/callback-server.js');
  readonly 'users/engagement-batch': typeof import('../../src/users/engagement-batch.js');
  readonly 'users/sign-in': typeof import('../../src/users/sign-in.js');
}

/**
 * Loads a module from the tested library. This is the compiled library or the folder given with
 * `--library`. In vitest, it is `src/`, which vitest compiles.
 */
export function loadModule<N extends keyof Modules>(library: URL, name: N): Promise<Modules[N]> {
  const extension = library.pathname.endsWith('/src/') ? 'ts' : 'js';
  return import(new URL(`${name}.${extension}`, library).href);
}

export function loadLibrary({
  library,
}: Pick<Setting, 'library'>): Promise<typeof import('millrace')> {
  return import(new URL('index.js', library).href);
}

export function libraryUrl(folder: string): URL {
  return pathToFileURL(`${folder.replace(/[/\\]+$/, '')}/`);
}
