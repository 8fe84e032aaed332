import type { Activity } from '../activity/activity.js';
import { OptionError } from '../errors.js';
import { type Operator, operator } from '../flow.js';
import { type RedactOptions, redacted } from '../tombstones/redacted.js';
import { Tombstones } from '../tombstones/tombstones.js';
import { withOrigin } from './with-origin.js';

/**
 * Leaves out posts that are not to be shown any more: deleted or dropped ones and those that share
 * them, those of users who are deleted, protected or suspended, those that are withheld in a country,
 * earlier versions of an edited post. A post whose author took the places off it goes on without
 * them, and one that quotes a hidden post without that; all others keep their bytes.
 *
 * Looks at the tombstones as they are when a post comes by: what is deleted later has to be taken out
 * of what was stored, with `applyCompliance`.
 *
 * @example
 * pipeline(replay(acme, window), withoutDeleted(tombstones, { country: 'DE' }), files({ path: 'out/{day}.jsonl' }));
 */
export function withoutDeleted(
  tombstones: Tombstones,
  options: RedactOptions = {},
): Operator<Activity, Activity> {
  checkTombstones(tombstones, options);
  return operator(
    async function* (input, { progress }) {
      for await (const batch of input) {
        const items = withOrigin(batch.origin, () =>
          batch.items
            .map(activity => redacted(tombstones, activity, options).activity)
            .filter(activity => activity !== undefined),
        );
        progress?.drop('deleted', batch.items.length - items.length);
        yield { ...batch, items };
      }
    },
    { handsOn: true },
  );
}

/** @throws OptionError */
export function checkTombstones(
  tombstones: unknown,
  options: RedactOptions,
  otherNames: readonly string[] = [],
): void {
  if (!(tombstones instanceof Tombstones))
    throw new OptionError('tombstones', 'Expected tombstones as `openTombstones()` makes them');
  if (typeof options !== 'object' || options === null)
    throw new OptionError('options', 'Expected `options` to be an object');
  const { country, earlierVersions = 'hide', mask = false, ...others } = options;
  // One that is misspelt would let posts through.
  for (const name of Object.keys(others))
    if (!otherNames.includes(name))
      throw new OptionError(
        name,
        `There is no option \`${name}\`; there are ${['country', 'earlierVersions', 'mask', ...otherNames].join(', ')}`,
      );
  if (country !== undefined && !/^[a-z]{2}$/i.test(country))
    throw new OptionError('country', `Expected \`country\` to be two letters, got ${country}`);
  if (earlierVersions !== 'hide' && earlierVersions !== 'keep')
    throw new OptionError(
      'earlierVersions',
      `Expected \`earlierVersions\` to be 'hide' or 'keep', got ${earlierVersions}`,
    );
  if (typeof mask !== 'boolean')
    throw new OptionError('mask', 'Expected `mask` to be true or false');
}
