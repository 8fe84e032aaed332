import path from 'node:path';
import { inject } from 'vitest';

const root = path.resolve(import.meta.dirname, '..');

/**
 * Returns the path of the compiled JavaScript of a script in `src`, `examples` or `test`, for use
 * in a child process.
 */
export function compiled(script: string): string {
  return path.join(inject('compiledSources'), path.relative(root, script)).replace(/\.ts$/, '.js');
}
