import type { Format } from '../activity.js';
import { AUTHOR, FIRST, type Field, OWN, type Path, PLACE, REPLY, SHOWN } from '../field-table.js';
import type { WantedMembers } from './find-members.js';

/** The fields that rules and columns read from a retweeted or quoted post. */
const OF_OTHERS = [OWN.id, OWN.idString, AUTHOR.id, AUTHOR.writtenHandle, OWN.enrichedUrls];
const OF_SHARED = [
  ...[...OF_OTHERS, ...Object.values(REPLY), ...Object.values(SHOWN)],
  ...[OWN.postedAt, OWN.favorites, OWN.retweets, OWN.quotedId],
];
const OF_QUOTED = [
  ...[...OF_OTHERS, ...Object.values(REPLY), ...Object.values(SHOWN)],
  ...[OWN.isQuote, OWN.verb, OWN.shared, OWN.sharedAuthor],
];
const OF_SHARED_BY_QUOTED = [...Object.values(SHOWN), OWN.enrichedUrls];

type Members = { [key: string]: true | Members };

/** The members of posts that are read from bytes. They are derived from the fields in `field-table.ts`. */
export const POST_MEMBERS: WantedMembers = membersOf({
  original: { shared: 'retweeted_status', quoted: 'quoted_status' },
  activity_streams: { shared: 'object', quoted: 'twitter_quoted_status' },
});

function membersOf(
  formats: Readonly<Record<Format, { readonly shared: string; readonly quoted: string }>>,
): WantedMembers {
  const root: Members = {};
  for (const format of ['original', 'activity_streams'] as const) {
    const { shared, quoted } = formats[format];
    const addAll = (fields: readonly Field[], ...of: readonly string[]) => {
      for (const { kind, paths } of fields)
        for (const keys of keysOf(paths[format]))
          add(root, [...of, ...keys], kind === 'object' ? {} : true);
    };
    addAll([OWN, REPLY, SHOWN, AUTHOR, PLACE].flatMap(group => Object.values<Field>(group)));
    addAll(OF_SHARED, shared);
    for (const path of [[quoted], [shared, quoted]]) {
      addAll(OF_QUOTED, ...path);
      addAll(OF_SHARED_BY_QUOTED, ...path, shared);
    }
  }
  // Members that are not in the table of fields but are also needed.
  for (const path of ['matching_rules', 'gnip.matching_rules', 'editable'])
    add(root, path.split('.'), true);
  for (const key of ['initial_tweet_id', 'edit_tweet_ids']) add(root, ['edit_history', key], true);
  for (const key of ['editable_until_ms', 'edits_remaining'])
    add(root, ['edit_controls', key], true);
  return root;
}

/**
 * Returns the paths at which a field may be, each as a list of keys. A path through a list ends at the list.
 */
function keysOf(path: Path | undefined): string[][] {
  if (path === undefined) return [];
  return path.places.map(keys => {
    const all = [...keys, ...path.rest];
    return all.includes(FIRST) ? all.slice(0, all.indexOf(FIRST)) : all;
  });
}

function add(members: Members, [key, ...rest]: readonly string[], leaf: true | Members): void {
  if (key === undefined) return;
  const nested = members[key];
  if (rest.length === 0) {
    members[key] = nested ?? leaf;
    return;
  }
  const within = typeof nested === 'object' ? nested : {};
  members[key] = within;
  add(within, rest, leaf);
}
