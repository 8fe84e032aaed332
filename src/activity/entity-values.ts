import { list, person, string } from './loose-values.js';
import type { Medium, Person } from './post-fields.js';

// Entities have the same members in both formats.

interface Tag {
  readonly text?: string | undefined;
}

interface Mention {
  readonly id?: unknown;
  readonly id_str?: unknown;
  readonly screen_name?: unknown;
}

interface MediaEntity {
  readonly type?: unknown;
  readonly media_url?: unknown;
  readonly media_url_https?: unknown;
}

type List<T> = readonly T[] | null | undefined;

/** The texts of hashtags or cashtags. */
export function tagTexts(tags: List<Tag>): readonly string[] {
  return list(tags).map(tag => string(tag.text));
}

/** The mentions of each list, one after the other. */
export function mentionsIn(...lists: readonly List<Mention>[]): readonly Person[] {
  return lists
    .flatMap(list)
    .map(({ id_str, id, screen_name }) => person(id_str ?? id, screen_name));
}

/** The media of the extended entities, since plain entities call every kind a photo. */
export function mediaIn(extended: List<MediaEntity>, plain: List<MediaEntity>): readonly Medium[] {
  const media = list(extended).length > 0 ? extended : plain;
  return list(media).map(({ type, media_url_https, media_url }) => ({
    type: string(type),
    url: string(media_url_https ?? media_url),
  }));
}
