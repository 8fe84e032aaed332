/**
 * The test files that `npm test` leaves out, as they are slow by nature: they start databases, clusters, browsers,
 * bundlers and package managers, kill processes again and again, measure memory, or run every example and page.
 * `npm run test:all` runs them, and so does a command line that names them.
 */
export const LEFT_OUT: readonly string[] = [
  'test/databases/**',
  'test/docker.test.ts',
  'test/faults/**',
  'test/jetstream/{chaos,connection,connection-leaderless,free-ports,from-jet-stream}.test.ts',
  'test/jetstream/{from-jet-stream-damage,nats-server,permissions,publisher,read-messages}.test.ts',
  'test/jetstream/{read-others,read-subject,route-proxies,to-jet-stream,topics}.test.ts',
  'test/jetstream/{to-jet-stream-batches,without-jetstream,without-packages}.test.ts',
  'test/jobs/job-files-memory.test.ts',
  'test/kill/*.test.ts',
  'test/package.test.ts',
  'test/security/{bombs,canary,slow-clients}.test.ts',
  'test/service/console/{browser,crowded-pages}.test.ts',
  'test/service/jobs/*-{kill,lock}.test.ts',
  'test/service/temporary-folder.test.ts',
  'test/sinks/{files,tables,tee}-kill.test.ts',
  'test/sinks/commit/call-on-file-kill.test.ts',
  'test/sinks/held-memory.test.ts',
  'test/supply.test.ts',
  'test/walk.test.ts',
];
