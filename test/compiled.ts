import path from 'node:path';
import { inject } from 'vitest';

const root = path.resolve(import.meta.dirname, '..');

export function compiled(script: string): string {
  return path.join(inject('compiledSources'), path.relative(root, script)).replace(/\.ts$/, '.js');
}
