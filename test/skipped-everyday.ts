/**
 * The test files that `npm test` skips because they are slow. They start databases, clusters,
 * browsers, bundlers and package managers, kill processes repeatedly, measure memory, or run or
 * compile every example and page. `npm run test:all` runs these files. A command line that names
 * one of them runs it, too.
 */
export const SKIPPED_FILES: readonly string[] = [
  'test/comment-examples.test.ts',
  'test/databases/**',
  'test/docker.test.ts',
  'test/examples.test.ts',
  'test/faults/**',
  'test/jetstream/{chaos,connection,connection-leaderless,free-ports,from-jet-stream}.test.ts',
  'test/jetstream/{from-jet-stream-damage,nats-server,permissions,publisher,read-messages}.test.ts',
  'test/jetstream/{read-others,read-subject,route-proxies,to-jet-stream,topics}.test.ts',
  'test/jetstream/{to-jet-stream-batches,without-jetstream,without-packages}.test.ts',
  'test/jobs/job-files-memory.test.ts',
  'test/package.test.ts',
  'test/pairs/jetstream-pairs.test.ts',
  'test/security/{bombs,canary,slow-clients}.test.ts',
  'test/service/console/{browser,crowded-pages}.test.ts',
  'test/service/jobs/*-{kill,lock}.test.ts',
  'test/service/temporary-folder.test.ts',
  'test/sinks/held-memory.test.ts',
  'test/supply.test.ts',
  'test/types/stage-errors.test.ts',
  'test/walk.test.ts',
];

/**
 * Single tests that `npm test` skips, by file. Each string is the part of a title that is the same
 * in every run. The tests take more than 1.5 s on two cores or start many processes, and other
 * tests run the same code with less input. If a command line names a file, all its tests run.
 */
export const SKIPPED_TESTS: Readonly<Record<string, readonly string[]>> = {
  'test/base/shard.test.ts': [
    'deliver the same posts in the same order as the search without shards',
    'deliver every file of a job and every line of its report exactly once',
  ],
  'test/command/conformance/conformance-command.test.ts': [
    'exits with 1 and an explanation if the service does not conform',
    'exits with 2 for a wrong password, without showing it',
    'refuses the arguments',
    'exits with 3 if no server listens',
    'explains its flags with the same words in its help and on its page',
    'keeps its exit code when the reader of its output closes the pipe',
    'prints its results as one JSON object with --json',
    'sends nothing to another machine unless the user answers yes',
    'names the missing variables and the endpoint families that it skips',
    'reads environment variables from a file',
    'fails if the file of environment variables does not exist',
  ],
  'test/command/conformance/run-checks.test.ts': ['pass for the local service'],
  'test/command/millrace.test.ts': [
    'writes posts of a search to standard output, and progress to standard error',
    'exits with 3 if posts are missing, and prints the command that continues',
    'exits with 1 and points at the mistake if a rule is invalid',
    'prints the warnings about a rule in a dry run',
    'divides a search into disjoint shards with --shard',
    'writes CSV or Parquet, depending on the extension of --out',
    'counts the posts of a search with --dry-run without fetching them',
    'searches for all rules of a file within the budget of requests',
    'pipes posts into another command, and exits without an error when the pipe closes',
    'writes damaged records to the file that --damaged names in convert and write',
    'prints counts as JSON lines into a pipe, and as rows into a CSV file',
    'lists, adds and removes the rules of the replay stream',
    'runs a job and downloads its files, but only with --yes',
    'accepts a job on a terminal only after the answer',
    'exits with 130 if the user presses Ctrl+C at the question about the cost',
    'applies stored compliance events to a replay',
    'applies compliance events while another process records them',
    'prints after an interrupt of compliance with',
    'exits with 2 for wrong arguments, and suggests correct ones',
    'suggests the product fullarchive if the dates are too old for 30day',
    'reports the gaps of a replay in terms of flags, not library options',
    'reads the settings of the account from the file that --env-file names',
    'with a closed standard error, ',
    'exits with a one-line message if the output device is full',
    'prints no error if the reader of its help closes the pipe',
    'refuses a folder as standard input',
    'exits immediately on an interrupt while nothing reads its output',
    'prints the help of each command within 24 lines',
    'prints the flags of the service command, and examples that work',
    'lists the subcommands of a command family',
    'prints lists as tables on a terminal, but not with --json',
    'completes commands and flags in the shell',
    'prints with --print-script a script that does the same as the command',
  ],
  'test/commit-subjects.test.ts': [
    'commit-subjects checks the commits of main that origin does not have',
    'commit-subjects checks only the last commit of a shallow clone without main',
  ],
  'test/compliance/compliance.test.ts': ['loses no event if its consumer reads late'],
  'test/compliance/without-deleted-stored.test.ts': [
    'withoutDeleted writes the same stored posts with threads, without threads and for single posts',
  ],
  'test/files/decode-file.test.ts': [
    'decodeFile leaves a file with more records and messages than the limit to the pipeline stages',
  ],
  'test/files/decoded-file.test.ts': [
    'is released only after all its lines are written, for any chunk sizes',
  ],
  'test/files/engine-job-files.test.ts': [
    'produce the same output as on the main thread, with any faults of the download',
    'leave no threads behind on an abort, and continue from the checkpoint',
    'fail with ENOSPC on a full disk, and the next run continues once there is space',
  ],
  'test/files/engine.test.ts': [
    'produce the same output as on the main thread if outputs span several inputs',
  ],
  'test/flow/frame-records.test.ts': [
    'frameRecords splits a block of tiny records into batches of limited length',
  ],
  'test/flow/progress.test.ts': [
    'the progress shows why',
    'the progress names the setting limits.replay while a replay waits for the connection limit',
    'the progress shows a wait for the connection limit',
    'the progress shows a wait for a rate limit, even if another call waits in the queue',
  ],
  'test/http/open-socket-tls.test.ts': ['search, counts and replay receive data through an'],
  'test/http/open-socket.test.ts': [
    'fails with the same kind of error as without a proxy, and names the proxy:',
    'is retried after the proxy responds with 502, closes the connection or is slow',
  ],
  'test/http/request-decode-body.test.ts': [
    'causes an error if it expands two hundredfold to more than 16 MiB, but not if it expands less',
  ],
  'test/http/response-handler.test.ts': ['fails as stalled if none of its bytes arrives in time'],
  'test/http/service-time.test.ts': [
    'computes its windows from the clock of the service if the local clock is',
    'decides by the clock of the service when to end if the local clock is',
  ],
  'test/jetstream/stream-settings-topics.test.ts': [
    'receive each post exactly once after a run that committed nothing',
    'receive each post of their language exactly once, even after an aborted run',
  ],
  'test/jobs/fetch-job-file.test.ts': ['is explained in the error'],
  'test/jobs/download-job.test.ts': [
    'names a large file and its damage in the error if the file stays damaged',
  ],
  'test/jobs/job-files.test.ts': ['closes its temporary files when a run ends early'],
  'test/jobs/run-job.test.ts': ['fails if the quote expires while it waits'],
  'test/jobs/stored-job-file.test.ts': ['is delivered through a temporary file if it is large'],
  'test/json/frame-objects.test.ts': [
    'frame-objects-wasm.ts contains the compiled frame-objects.as',
  ],
  'test/operators/gunzip.test.ts': [
    'needs little memory for a decompression bomb, both in a whole file and in a stream',
  ],
  'test/operators/match-rules-stored.test.ts': [
    'matches the same posts as compiled rules, with and without threads',
    'matches the correct posts while threads re-index the rules by rarer terms',
    'continues on the main thread if a worker thread exits',
  ],
  'test/post/bytes/find-members-wasm.test.ts': [
    'find-members-wasm.ts contains the compiled find-members.as',
  ],
  'test/replay/incremental.test.ts': [
    'continues where the last complete run ended, even after a crash',
    'reports minutes that are older than five days only once, and continues after them',
  ],
  'test/replay/receive-replay.test.ts': [
    'with many failed ranges causes a gap for each of them',
    'loses no post if the connection is',
  ],
  'test/replay/replay-spool.test.ts': [
    'accepts records while it writes earlier ones, and keeps the order of the records',
  ],
  'test/rules/index/compile-rules.test.ts': [
    'accepts more rules than a function call can have arguments',
  ],
  'test/rules/index/lexicon.test.ts': ['are reused after half of 100,000 terms are released'],
  'test/rules/index/rule-index.test.ts': [
    'returns the same matches after it has re-indexed rules by rarer terms',
  ],
  'test/search/incremental-window.test.ts': [
    'leaves the files unchanged',
    'reports minutes that are too old for 30day as a gap, and continues after them',
  ],
  'test/search/incremental.test.ts': [
    'delivers each post exactly once despite crashed, simultaneous and late runs',
    'delivers each complete bucket exactly once over any runs',
  ],
  'test/search/search-rules.test.ts': [
    'delivers a post once, even if two queries find it with many posts in between',
    'covers the same window with all queries, even if a query starts late',
    'continues after the last run with `incremental`, even after a crash in any query',
    'rejects with the missing part if a later query fails, and resumes from the cursor of that error',
    'reports minutes that are too old for 30day only once, and continues after them with all queries',
  ],
  'test/search/search-service.test.ts': [
    'recovers from a flipped bit that breaks the JSON before the checksum is verified',
    'finds as many posts as counts() counts, both in the default window and in more than 31 days',
    'finds as many posts as counts() counts',
    'delivers posts with the tag of the query',
  ],
  'test/service/archive/archive.test.ts': [
    'generates each post of a week only once, even if several words are counted',
  ],
  'test/service/archive/folder/folder-archive-zstd.test.ts': [
    'reads lines of a file that is too large to be inflated for each request',
  ],
  'test/service/archive/folder/line-reader-packed-text.test.ts': ['reads the lines of a gzip file'],
  'test/service/archive/real-posts.test.ts': ['are served unchanged and found by any word'],
  'test/service/cli.test.ts': [
    'exits with 2 and the reason for',
    'stops the service at the end of the scope of the',
    'exits with 2 if its port is in use',
    'shows its options with their defaults',
    'exits with 1 and the reason if the folder does not exist',
    'prints links with its token if it listens on every address, and exits on SIGTERM',
    'generates a token if its environment contains an empty one, as in compose.yaml',
    'uses the token in its environment, and does not print a default password',
    'rejects a host of another machine and a weak token, without printing the token',
    'exits when the npm process that started it receives a SIGTERM',
    'describe the running service, whatever its options',
    'include every setting for all endpoints, as shell commands and in the format of --env-file',
    'replace the addresses of another service in the environment',
    'include the token of a service that has one, and allow http to its origin',
    'identify the archive, so that a checkpoint from another archive is not continued',
    'are replaced by an error with advice if no service runs at the port',
    'are not printed for the wrong arguments',
    'shows in its help the way in which it was started: by',
  ],
  'test/service/console/endpoint-list-commands.test.ts': [
    'succeed in a shell with curl (needs curl)',
    'succeed as millrace commands',
    'start with a command that finds posts without environment variables (needs curl)',
  ],
  'test/service/console/rule-test-pages.test.ts': [
    'accepts 1 MB of JSON, and keeps it in the form if it is not a post',
  ],
  'test/service/jobs/data-files.test.ts': [
    'contains exactly the matching posts of the archive, in',
    'can be downloaded concurrently',
  ],
  'test/service/jobs/estimate.test.ts': [
    'is close to the delivered totals, even for a long window',
  ],
  'test/service/jobs/generate-files.test.ts': [
    'can be served as an archive in which the service searches and runs jobs',
  ],
  'test/service/jobs/job-routes-endpoints.test.ts': [
    'use the origin that the client used if the service has a token',
    'use an outer address of the service if the client uses the addresses of start()',
    'have a second origin on loopback',
  ],
  'test/service/jobs/job-routes-rates.test.ts': [
    'allow the creation of 60 jobs in a UTC day',
    'are still in force after the service restarts',
    'reject a request whose body arrives after others have reached the limit',
    'include only jobs that were created',
    'can be lifted with relaxed limits',
  ],
  'test/service/jobs/service-jobs.test.ts': [
    'continues every job from its status',
    'writes the same job files however often it stops while writing them',
  ],
  'test/service/replay/rules-routes.test.ts': ['keeps every character of rule values and tags'],
  'test/service/replay/send-replay.test.ts': [
    'resets the connection of a client that never reads',
    'waits for a slow client and loses no message',
  ],
  'test/service/sample/sample-archive-blocks.test.ts': [
    'are exactly the posts that name the generated post as their original',
  ],
  'test/service/sample/sample-draft.test.ts': ['include every kind of post in several languages'],
  'test/service/sample/sample-posts.test.ts': ['returns the configured number of posts over a day'],
  'test/service/sample/sample-terms.test.ts': [
    'SampleTerms returns the index terms of posts in either format without rendering the posts',
  ],
  'test/service/usage/build-usage-report.test.ts': [
    'counts more posts than a single write can store',
  ],
  'test/service/usage/usage-meter-store.test.ts': [
    'keeps posts counted just before the process was killed',
  ],
  'test/sinks/commit/call-on-file.test.ts': [
    'is called again for a file if its failed call has deleted the file:',
  ],
  'test/sinks/commit/tee-commits.test.ts': [
    'does not end files that received their first items while a commit was running',
  ],
  'test/sinks/commit/tee-run.test.ts': [
    'writes with threads in each branch what each sink writes alone, even after a failure in the middle',
    'tee writes each post to its files and to committed() exactly once, even after failing runs',
  ],
  'test/sinks/csv.test.ts': ['is read correctly by pandas, which returns null as empty strings'],
  'test/sinks/files.test.ts': ['limits its open files and the memory of buffered posts'],
  'test/sinks/stdout.test.ts': [
    'loses no output with a slow reader of',
    'leaves stdout open for later output of the script',
  ],
  'test/snippets.test.ts': [
    'succeed against the control API of a running service',
    'compile without errors',
    'print the environment variables for scripts',
  ],
  'test/source-readme.test.ts': [
    'contains only files that run in a search into CSV',
    'contains exactly the files that run when stored files are written to a file',
  ],
  'test/sources/local-files.test.ts': [
    'queries the sizes of at most a few hundred files at a time',
  ],
  'test/sources/planned-sources.test.ts': [
    'with operators after concat',
    'with operators before concat',
    'are delivered by merge exactly once and in order, even after a failure',
    'are read by merge until one source ends while another source waits',
    'start threads even if they are large only in sum',
  ],
  'test/storage/lock.test.ts': [
    'is taken over 10 s after the last write of a process that cannot be checked',
    'is updated regularly by its holder as a sign of life',
  ],
  'test/storage/open-lmdb.test.ts': [
    'causes a StorageError with the reason, and tombstones can be added afterwards',
    'causes a StorageError with the reason, and usage can be added afterwards',
  ],
  'test/tables/from-bytes/post-rows.test.ts': [
    'is read from generated posts and posts of other tools without parsing the post',
    'equals that of the parsed post after any member values are changed',
    'equals that of the parsed post for real posts (needs MILLRACE_REAL_DATA)',
  ],
  'test/tables/parquet/column-chunk.test.ts': [
    'has a dictionary if it contains',
    'keeps strings apart that have the same hash',
    'has one page per MiB of values, and more pages for many nulls',
  ],
  'test/tables/parquet/encode-values.test.ts': [
    'encode-values-wasm.ts contains the compiled encode-values.as',
  ],
  'test/tables/parquet/parquet-encoder.test.ts': [
    'equal files written without threads, byte for byte',
    'have more row groups if memory is short, but contain all rows',
    'with a checkpoint are complete after a run that was aborted at any point is continued',
  ],
};

/** @param file The path of the test file relative to the project. */
export function isSkipped(file: string, title: string): boolean {
  return SKIPPED_TESTS[file]?.some(part => title.includes(part)) ?? false;
}
