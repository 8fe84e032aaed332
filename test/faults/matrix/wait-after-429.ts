import type { World } from './world.js';

/**
 * Watches the service for the first request that it refuses with 429.
 *
 * @returns How long after it the same path was requested again, by the service's clock; 0 if it was not.
 */
export function waitAfter429({ service }: World): () => number {
  let refused: { readonly path: string | undefined; readonly at: number } | undefined;
  let repeatedAt: number | undefined;
  service.on('request', ({ url }, response) => {
    const path = url?.split('?')[0];
    const at = service.clock.now();
    if (refused?.path === path) repeatedAt ??= at;
    response.on('finish', () => {
      if (response.statusCode === 429) refused ??= { path, at };
    });
  });
  return () => (refused === undefined || repeatedAt === undefined ? 0 : repeatedAt - refused.at);
}
