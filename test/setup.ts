// Vitest runs this before each test file, also in a process that files share.
import { afterAll, afterEach } from 'vitest';
import { cleanUpAfterTest } from './after-tests.js';
import { endChildren } from './child-processes.js';

afterEach(cleanUpAfterTest);
// Not after each test: the tests of a file may run concurrently.
afterAll(endChildren);
