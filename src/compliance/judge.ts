import type { Activity } from '../activity/activity.js';
import { JsonObject } from '../json/json-object.js';
import type { Tombstones } from './tombstones.js';

/** Why a post is not to be shown. */
export type HiddenReason =
  | 'deleted'
  | 'dropped'
  | 'edited'
  | 'withheld'
  | 'user deleted'
  | 'user protected'
  | 'user suspended'
  | 'user withheld';

/** What tombstones say of a post. */
export interface Visibility {
  /** Why all of it is not to be shown. */
  readonly hidden: HiddenReason | undefined;
  /** Where in its bytes something is not to be shown, start and end: a place, or a quoted post. */
  readonly cleared: readonly (readonly [number, number])[];
}

/** What decides whether a post may be shown. */
export interface VisibilityOptions {
  /**
   * Where posts are shown: two letters, such as `DE`. Posts that are withheld there are hidden; those
   * that are withheld everywhere (`XX`, `XY`) always are.
   */
  readonly country?: string | undefined;
  /** Whether earlier versions of an edited post stay. @default 'hide' */
  readonly earlierVersions?: 'hide' | 'keep' | undefined;
}

const EVERYWHERE: readonly string[] = ['XX', 'XY'];
/** Members that say where a post was made, in either format. Those of a user are another matter. */
const PLACES = {
  original: ['geo', 'coordinates', 'place'],
  activity_streams: ['geo', 'location'],
} as const;

/**
 * Whether a post may be shown, and all of it. One that shares a hidden post is hidden with it
 * (service.md section 6); one that quotes a hidden post loses the quoted one.
 */
export function visibilityOf(
  tombstones: Tombstones,
  activity: Activity,
  options: VisibilityOptions = {},
): Visibility {
  const cleared: (readonly [number, number])[] = [];
  const hidden = visit(tombstones, activity, options, activity.raw, cleared);
  if (hidden !== undefined) return { hidden, cleared: [] };
  return { hidden, cleared: cleared.sort(([a], [b]) => a - b) };
}

function visit(
  tombstones: Tombstones,
  activity: Activity,
  options: VisibilityOptions,
  root: Buffer,
  cleared: (readonly [number, number])[],
): HiddenReason | undefined {
  const hidden = hiddenBy(tombstones, activity, options);
  if (hidden !== undefined) return hidden;
  const { retweeted, quoted, raw, format } = activity;
  if (retweeted !== undefined) {
    const shared = visit(tombstones, retweeted, options, root, cleared);
    if (shared !== undefined) return shared;
  }
  const offset = raw.byteOffset - root.byteOffset;
  if (quoted !== undefined) {
    const within: (readonly [number, number])[] = [];
    if (visit(tombstones, quoted, options, root, within) === undefined) cleared.push(...within);
    else {
      const start = quoted.raw.byteOffset - root.byteOffset;
      cleared.push([start, start + quoted.raw.length]);
    }
  }
  const upTo = tombstones.user(activity.author.id)?.scrubbedUpTo;
  if (upTo !== undefined && BigInt(activity.id) <= BigInt(upTo)) {
    const fields = JsonObject.of(raw);
    for (const key of PLACES[format]) {
      const span = fields?.span(key);
      if (span === undefined || raw.toString('latin1', ...span) === 'null') continue;
      cleared.push([offset + span[0], offset + span[1]]);
    }
  }
  return undefined;
}

function hiddenBy(
  tombstones: Tombstones,
  activity: Activity,
  { country, earlierVersions = 'hide' }: VisibilityOptions,
): HiddenReason | undefined {
  const isWithheld = (countries: readonly string[] | undefined) =>
    countries?.some(code => EVERYWHERE.includes(code) || code === country?.toUpperCase()) === true;
  const post = tombstones.post(activity.id);
  // Whoever deletes one version of a post deletes them all.
  const versions = activity.edits?.ids ?? [];
  if (post?.deleted || versions.some(id => tombstones.post(id)?.deleted)) return 'deleted';
  if (post?.dropped?.[1]) return 'dropped';
  if (post?.edited && earlierVersions === 'hide') return 'edited';
  if (isWithheld(post?.withheld?.[1])) return 'withheld';
  const user = tombstones.user(activity.author.id);
  if (user?.deleted?.[1]) return 'user deleted';
  if (user?.protected?.[1]) return 'user protected';
  if (user?.suspended?.[1]) return 'user suspended';
  if (isWithheld(user?.withheld?.[1])) return 'user withheld';
  return undefined;
}
