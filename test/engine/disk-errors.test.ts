import { appendFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { localFiles } from '../../src/archive/local-files.js';
import { StorageError } from '../../src/errors.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { activities } from '../../src/operators/activities.js';
import { gunzip } from '../../src/operators/gunzip.js';
import { jsonLines } from '../../src/operators/json-lines.js';
import { files } from '../../src/sinks/files.js';
import { MOUNT, onDisk } from '../storage/mounted-disk.js';
import { nodeError, SimulatedDisk } from '../storage/simulated-disk.js';

// Threads run the compiled script: build first.

const post = (id: number) =>
  `{"created_at":"Wed Oct 1${id} 20:19:24 +0000 2018","id":${id},"id_str":"${id}","text":"a"}\n`;

it.each(['open', 'write', 'close'])(
  'an output of threads is named in the error of a failing disk: %s (faults disks files-by-threads/EIO)',
  async failing => {
    const disk = new SimulatedDisk();
    disk.put(`${MOUNT}/there`, Buffer.alloc(0));
    const failure = await onDisk(disk, async () => {
      await appendFile(`${MOUNT}/stored.json.gz`, gzipSync(post(1) + post(2)));
      disk.before = (call, file) => {
        if (call.startsWith(failing) && file.endsWith('.part'))
          throw nodeError('EIO', `${call} '${file}'`);
      };
      return pipeline(
        localFiles(`${MOUNT}/stored.json.gz`),
        gunzip(),
        jsonLines(),
        activities(),
        // The first output is closed where the second is opened.
        files({ path: `${MOUNT}/{day}.jsonl`, workers: 1, maxOpen: 1 }),
      ).catch((error: unknown) => error);
    });
    expect(failure).toBeInstanceOf(StorageError);
    expect((failure as StorageError).path).toMatch(/^\/simulated\/2018-10-1[12]\.jsonl\.part$/);
  },
);
