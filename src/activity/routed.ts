import type { Activity } from './activity.js';

/** An activity with one of its tags, as `routeByTag` gives it. */
export interface Routed {
  readonly tag: string;
  readonly activity: Activity;
}
