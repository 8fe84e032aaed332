// Vitest runs this before each test file, even in a process that several files share.
import fc from 'fast-check';
import { afterAll, afterEach, beforeEach, onTestFailed } from 'vitest';
import { forgetSecrets } from '../src/base/secret.js';
import { cleanUpAfterTest } from './after-tests.js';
import { endChildren } from './child-processes.js';
import { explainSuppressed } from './explain-suppressed.js';
import { endProperties, propertyHooks } from './properties.js';
import { propertySeed } from './property-seed.js';
import { isSkipped } from './skipped-everyday.js';
import { bySuite, isEveryday } from './suite.js';
import { removeTemporaryFolders } from './temporary-folder.js';

// Forgets the secrets of earlier test files in this process. Otherwise, they would be redacted in
// the messages of this file, in which they may be ordinary words.
forgetSecrets();

// The defaults for properties that do not set the number of runs or the seed themselves.
const seed = propertySeed(process.env.MILLRACE_SEED);
fc.configureGlobal({
  ...propertyHooks,
  numRuns: bySuite(10, 400),
  ...(seed === undefined ? {} : { seed }),
});

beforeEach(({ task, skip }) => {
  skip(isEveryday && isSkipped(task.file.name, task.name), 'npm run test:all has it');
  onTestFailed(async ({ task }) => {
    for (const error of task.result?.errors ?? []) explainSuppressed(error);
    await endProperties();
  });
});
afterEach(cleanUpAfterTest);
// This runs once per file, because the tests of a file may run concurrently. Children end before
// their folders are removed.
afterAll(async () => {
  await endChildren();
  await removeTemporaryFolders();
});
