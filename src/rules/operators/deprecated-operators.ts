import type { OperatorName } from '../tree.js';

/**
 * The operators of version 1.0, which old rules still use, and their replacements in version 2.0. The value
 * is `undefined` if an operator has no replacement.
 */
export const deprecatedOperators: ReadonlyMap<string, OperatorName | undefined> = new Map<
  string,
  OperatorName | undefined
>([
  ['platform_lang', 'lang'],
  ['twitter_lang', 'lang'],
  ['influence_score', undefined],
  ['influence_topic', undefined],
  ['influence_topic_contains', undefined],
  ['influence_topic_id', undefined],
  ['klout_score', undefined],
  ['klout_topic', undefined],
  ['klout_topic_contains', undefined],
  ['klout_topic_id', undefined],
  ['bio_lang', undefined],
  ['time_zone', undefined],
  ['country_code', 'place_country'],
  ['profile_country_code', 'profile_country'],
  ['bio_location_contains', 'bio_location'],
  ['place_contains', 'place'],
  ['profile_region_contains', 'profile_region'],
  ['profile_locality_contains', 'profile_locality'],
  ['profile_subregion_contains', 'profile_subregion'],
  ['bio_name_contains', 'bio_name'],
  ['bio_contains', 'bio'],
]);

/**
 * The values of `has:` that only version 1.0 of the rule language has. The replacement of `has:lang` is
 * `-lang:und`. The other values have no replacement.
 */
export const deprecatedHasValues: ReadonlySet<string> = new Set([
  'lang',
  'profile_geo_region',
  'profile_geo_subregion',
  'profile_geo_locality',
]);
