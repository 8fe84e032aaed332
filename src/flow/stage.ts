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

/**
 * One to nine stages in a row, each of which takes what the one before gives. Calls have an overload for each
 * number: TypeScript infers the types of a row from left to right only where its length is fixed.
 */
export type OneStage<A, B> = [ab: Stage<A, B>];
export type TwoStages<A, B, C> = [...OneStage<A, B>, bc: Stage<B, C>];
export type ThreeStages<A, B, C, D> = [...TwoStages<A, B, C>, cd: Stage<C, D>];
export type FourStages<A, B, C, D, E> = [...ThreeStages<A, B, C, D>, de: Stage<D, E>];
export type FiveStages<A, B, C, D, E, F> = [...FourStages<A, B, C, D, E>, ef: Stage<E, F>];
export type SixStages<A, B, C, D, E, F, G> = [...FiveStages<A, B, C, D, E, F>, fg: Stage<F, G>];
export type SevenStages<A, B, C, D, E, F, G, H> = [
  ...SixStages<A, B, C, D, E, F, G>,
  gh: Stage<G, H>,
];
export type EightStages<A, B, C, D, E, F, G, H, I> = [
  ...SevenStages<A, B, C, D, E, F, G, H>,
  hi: Stage<H, I>,
];
export type NineStages<A, B, C, D, E, F, G, H, I, J> = [
  ...EightStages<A, B, C, D, E, F, G, H, I>,
  ij: Stage<I, J>,
];
