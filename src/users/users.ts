/**
 * The functions that sign users in with OAuth 1.0a, and that fetch the engagement totals of their posts, such
 * as likes. The package exports them as the namespace `users`.
 */

export type { EngagementProblem } from './engagement-batch.js';
export type {
  Count,
  CountAs,
  EngagementType,
  GroupBy,
  GroupedTotals,
  Grouping,
  Groupings,
  Totals,
  UserToken,
} from './engagement-request.js';
export {
  type ByPost,
  type EngagementTotals,
  type EngagementTotalsOptions,
  engagementTotals,
} from './engagement-totals.js';
export { type SignInOptions, signIn } from './sign-in.js';
export {
  type AccessToken,
  type AccessTokenOptions,
  accessToken,
  type RequestToken,
  type RequestTokenOptions,
  requestToken,
  type SignInAddressOptions,
  signInAddress,
} from './sign-in-steps.js';
