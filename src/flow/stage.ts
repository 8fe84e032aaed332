import type { StageStream } from './stream-stage.js';

/**
 * What can stand between a source and a sink: an operator, an `async function*` over the items, a Node
 * `Transform`, a `TransformStream` of the web or a Minipass stream. The output type of a Node `Transform`
 * is not known: it is whatever the next stage takes.
 *
 * @example
 * async function* pairs(posts: AsyncIterable<Activity>): AsyncGenerator<[Activity, Activity]> {
 *   let last: Activity | undefined;
 *   for await (const post of posts) {
 *     if (last !== undefined) yield [last, post];
 *     last = post;
 *   }
 * }
 * await pipeline(source, pairs, collect());
 */
export type Stage<In, Out> =
  | ((input: AsyncIterable<In>) => AsyncIterable<Out>)
  | StageStream<In, Out>;
