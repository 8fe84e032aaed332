import type { Activity } from './activity.js';

/** An activity on its way to one of the places that it belongs to. */
export interface Routed {
  readonly tag: string;
  readonly activity: Activity;
}
