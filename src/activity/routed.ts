import type { Activity } from './activity.js';

/** An activity with one of its tags, as `routeByTag` gives it. */
export interface Routed {
  /** The tag of a matching rule, or the name for activities without a tag. */
  readonly tag: string;
  readonly activity: Activity;
}
