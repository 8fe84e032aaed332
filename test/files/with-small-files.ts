import { execFile } from 'node:child_process';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { BASH_ARGS } from '../child-processes.js';
import { compiled } from '../compiled.js';
import { root } from '../pages.js';

/**
 * Simulates a full disk: runs a pipeline in a process whose files cannot grow beyond 500 KiB.
 * Returns the code and the message of the pipeline's error, and the code of the cause.
 */
export async function withSmallFiles(imports: string, stages: string): Promise<string> {
  const library = pathToFileURL(compiled(path.join(root, 'src/index.ts'))).href;
  const script = `
    import { ${imports}, pipeline } from ${JSON.stringify(library)};
    try {
      await pipeline(${stages});
    } catch (error) {
      console.log(error.code, error.message, error.cause?.code);
    }`;
  const { stdout } = await promisify(execFile)('bash', [
    ...BASH_ARGS,
    'ulimit -f 500; exec "$0" --input-type=module -e "$1"',
    process.execPath,
    script,
  ]);
  return stdout;
}
