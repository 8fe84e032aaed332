import type { AuthorFields, Home, Link, Person, PostFields } from '../../post/post-fields.js';
import { postTerms } from '../../rules/operators/post-terms.js';
import { dialectOf } from '../../rules/post/dialect.js';
import { RulePost } from '../../rules/post/rule-post.js';
import { tokenise } from '../../rules/post/tokeniser.js';
import { pageDisplay, postPage } from './render-parts.js';
import type { SampleDrafts, SampleHead } from './sample-draft.js';
import type { SamplePlace } from './sample-vocabulary.js';

const SEARCH = dialectOf('search');

export const NOBODY: Person = { id: '', handle: '', writtenHandle: '' };

export const NO_AUTHOR: AuthorFields = {
  ...NOBODY,
  name: '',
  bio: '',
  location: '',
  url: '',
  image: '',
  verified: undefined,
  protected: undefined,
  createdAt: undefined,
  statuses: undefined,
  followers: undefined,
  friends: undefined,
  listed: undefined,
  favorites: undefined,
  homes: [],
};

/** A post with empty fields, which has no search terms. */
const NOTHING: PostFields = {
  id: '',
  text: '',
  link: '',
  hashtags: [],
  cashtags: [],
  mentions: [],
  links: [],
  media: [],
  author: NO_AUTHOR,
  replyTo: undefined,
  repliedId: '',
  retweeted: undefined,
  isQuote: false,
  quotedId: '',
  favorites: undefined,
  retweets: undefined,
  replies: undefined,
  quotes: undefined,
  possiblySensitive: undefined,
  withheldIn: undefined,
  isNullcast: false,
  lang: '',
  place: undefined,
  position: undefined,
  source: { name: '', link: '' },
  quoted: undefined,
  quotedText: '',
};

export function linkTo(expanded: string, display: string): Link {
  return { url: '', expanded, unwound: '', display, title: '', description: '' };
}

export function pageLink(quoted: SampleHead, drafts: SampleDrafts): Link {
  const page = postPage(quoted, drafts);
  return linkTo(page, pageDisplay(page));
}

/**
 * Returns the search terms of a post that has only these fields. Removes the terms of empty fields, which
 * consist only of a prefix such as `from:`.
 */
export function termsOf(fields: Partial<PostFields>): readonly string[] {
  return [...postTerms(new RulePost(postWith(fields), SEARCH))].filter(
    term => !term.endsWith(':') && !term.endsWith('@'),
  );
}

export function postWith(fields: Partial<PostFields>): PostFields {
  return { ...NOTHING, ...fields };
}

export function wordsIn(text: string): readonly string[] {
  // Most calls pass a name that is a single word, for which the tokeniser is not needed.
  if (/^[a-z]+$/i.test(text)) return [text.toLowerCase()];
  return tokenise(text, SEARCH.accents).words;
}

export function placeFields({ code, country, region, name, id }: SamplePlace): Partial<PostFields> {
  const fullName = `${name}, ${region}`;
  const place = { id, name, fullName, countryCode: code, country, type: 'city', corners: [] };
  return { place };
}

export function homeIn({ code, region, name }: SamplePlace): Home {
  return { countryCode: code, region, subregion: '', locality: name, position: undefined };
}
