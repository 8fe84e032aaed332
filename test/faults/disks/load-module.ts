/**
 * A module of the library, from the folder of the run: the compiled library, a mutant of it, or `src/` in a test of
 * vitest, which compiles it.
 */
export function loadModule<T>(library: URL, name: string): Promise<T> {
  const extension = library.pathname.endsWith('/src/') ? 'ts' : 'js';
  return import(new URL(`${name}.${extension}`, library).href);
}
