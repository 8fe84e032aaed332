import { DAY } from '../../base/time.js';
import { getOrMake } from '../cache.js';
import { type SampleAuthor, yearsOf } from './sample-authors.js';
import { ENRICHED } from './sample-draft.js';
import { type SamplePlace, SUBJECTS } from './sample-vocabulary.js';

/** Profiles in posts since this time have no language and no time zone. */
const PROFILES_CUT = Date.UTC(2018, 4, 23);

interface Written {
  readonly start: string;
  readonly end: string;
}

/** The times at which the service changed the members of profiles. */
const ERAS = [ENRICHED, PROFILES_CUT];

/**
 * For each author, the parts of the profile that do not depend on counts. The inner keys consist of the kind
 * of profile and the result of `eraOf`.
 */
const written = new WeakMap<SampleAuthor, Map<string, Written>>();

export function renderUser(author: SampleAuthor, at: number): string {
  const { start, end } = once(author, `user${eraOf(at)}`, () => writeUser(author, at));
  const counts = countsOf(author, at);
  return `${start}"followers_count":${counts.followers},"friends_count":${counts.friends},"listed_count":${counts.listed},"favourites_count":${counts.likes},"statuses_count":${counts.posts},${end}`;
}

export function renderActor(author: SampleAuthor, at: number): string {
  const { start, end } = once(author, `actor${eraOf(at)}`, () => writeActor(author, at));
  const counts = countsOf(author, at);
  return `${start}"friendsCount":${counts.friends},"followersCount":${counts.followers},"listedCount":${counts.listed},"statusesCount":${counts.posts},"favoritesCount":${counts.likes},${end}`;
}

/** Returns the member `gnip.profileLocations`; `undefined` if the location of the profile was not recognised. */
export function renderProfileLocations({ home }: SampleAuthor): string | undefined {
  if (home === undefined) return undefined;
  const { country, code, name, region, center } = home;
  return `[{"objectType":"place","displayName":${quote(fullName(home))},"address":{"country":"${country}","countryCode":"${code}","locality":${quote(name)},"region":${quote(region)}},"geo":{"type":"point","coordinates":[${center}]}}]`;
}

/** Formats a time like `Wed Oct 10 20:19:24 +0000 2018`. */
export function createdAt(at: number): string {
  const text = new Date(at).toUTCString();
  return `${text.slice(0, 3)} ${text.slice(8, 11)} ${text.slice(5, 7)} ${text.slice(17, 25)} +0000 ${text.slice(12, 16)}`;
}

/** Formats a time like `2018-10-10T20:19:24.000Z`, always in whole seconds. */
export function postedTime(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}.000Z`;
}

export const quote = (text: string): string => JSON.stringify(text);

function writeUser(author: SampleAuthor, at: number): Written {
  const { home, image, banner, language } = author;
  const isFull = at < PROFILES_CUT;
  const locations =
    home === undefined
      ? ''
      : `"locations":[{"country":"${home.country}","country_code":"${home.code}","locality":${quote(home.name)},"region":${quote(home.region)},"full_name":${quote(fullName(home))},"geo":{"coordinates":[${home.center}],"type":"point"}}],`;
  const derived = `"derived":{${locations}"klout":${renderUserInfluence(author, at)}},`;
  const theme = `theme${author.theme}`;
  const [background, links, border, sidebar, text] = author.colors;
  const offset = isFull && home !== undefined ? home.utcOffset * 3600 : null;
  const zone = isFull && home !== undefined ? quote(home.name) : null;
  return {
    start: `{"id":${author.id},"id_str":"${author.id}","name":${quote(author.name)},"screen_name":"${author.handle}","location":${orNull(author.location)},"url":${orNull(author.url)},"description":${orNull(author.description)},"translator_type":"none",${derived}"protected":false,"verified":${author.verified},`,
    end: `"created_at":"${createdAt(author.createdAt)}","utc_offset":${offset},"time_zone":${zone},"geo_enabled":${home !== undefined},"lang":${isFull ? quote(language.code) : null},"contributors_enabled":false,"is_translator":false,"profile_background_color":"${background}","profile_background_image_url":"http://abs.twimg.com/images/themes/${theme}/bg.png","profile_background_image_url_https":"https://abs.twimg.com/images/themes/${theme}/bg.png","profile_background_tile":false,"profile_link_color":"${links}","profile_sidebar_border_color":"${border}","profile_sidebar_fill_color":"${sidebar}","profile_text_color":"${text}","profile_use_background_image":true,"profile_image_url":"http://pbs.twimg.com${image}","profile_image_url_https":"https://pbs.twimg.com${image}",${banner === undefined ? '' : `"profile_banner_url":"${banner}",`}"default_profile":${author.isDefaultProfile},"default_profile_image":false,"following":null,"follow_request_sent":null,"notifications":null}`,
  };
}

function writeActor(author: SampleAuthor, at: number): Written {
  const { home, image, language } = author;
  const isFull = at < PROFILES_CUT;
  const offset = isFull && home !== undefined ? `"${home.utcOffset * 3600}"` : null;
  const zone = isFull && home !== undefined ? quote(home.name) : null;
  const location =
    author.location === null
      ? ''
      : `"location":{"objectType":"place","displayName":${quote(author.location)}},`;
  return {
    start: `{"objectType":"person","id":"id:twitter.com:${author.id}","link":"http://www.twitter.com/${author.handle}","displayName":${quote(author.name)},"postedTime":"${new Date(author.createdAt).toISOString()}","image":"https://pbs.twimg.com${image}","summary":${orNull(author.description)},`,
    end: `${location}"twitterTimeZone":${zone},"verified":${author.verified},"utcOffset":${offset},"preferredUsername":"${author.handle}","languages":[${isFull ? quote(language.code) : ''}],"links":[{"href":${orNull(author.url)},"rel":"me"}]}`,
  };
}

function eraOf(at: number): number {
  return ERAS.filter(start => at >= start).length;
}

function countsOf(author: SampleAuthor, at: number) {
  const years = yearsOf(author, at);
  const followers = Math.floor(author.followers * (1 + years * 0.3));
  return {
    followers,
    friends: Math.floor(author.friends * (1 + years * 0.1)),
    listed: Math.floor(followers / 60),
    likes: Math.floor(author.statusesPerDay * years * 220),
    posts: 1 + Math.floor((author.statusesPerDay * Math.max(at - author.createdAt, 0)) / DAY),
  };
}

function once(author: SampleAuthor, key: string, write: () => Written): Written {
  return getOrMake(
    getOrMake(written, author, () => new Map<string, Written>()),
    key,
    write,
  );
}

function fullName({ name, region, country }: SamplePlace): string {
  return `${name}, ${region}, ${country}`;
}

export function orNull(text: string | null | undefined): string {
  return JSON.stringify(text ?? null);
}

const SITE = 'http://klout.com';

/** Returns the member `klout` of a user in the `original` format. */
function renderUserInfluence(author: SampleAuthor, at: number): string {
  const { score, userId, page, topics } = influenceOf(author);
  if (at < ENRICHED) return `{"score":${score}}`;
  const listed = topics.map(
    topic =>
      `{"score":${topic.score},"id":"${topic.id}","url":"${topic.page}","name":"${topic.name}"}`,
  );
  return `{"score":${score},"user_id":"${userId}","profile_url":"${page}","influence_topics":[${listed}]}`;
}

/** Prints the members of `gnip` that describe an actor in the `activity_streams` format, without braces. */
export function renderActorInfluence(author: SampleAuthor, at: number): string {
  const { score, userId, page, topics } = influenceOf(author);
  if (at < ENRICHED) return `"klout_score":${score}`;
  const listed = topics.map(
    topic =>
      `{"id":"${topic.id}","displayName":"${topic.name}","link":"${topic.page}","score":${topic.score},"topic_type":"influence"}`,
  );
  return `"klout_score":${score},"klout_profile":{"klout_user_id":"${userId}","link":"${page}","topics":[${listed}]}`;
}

const known = new WeakMap<SampleAuthor, ReturnType<typeof measure>>();

const influenceOf = (author: SampleAuthor) => getOrMake(known, author, () => measure(author));

/** Computes the influence of an author, for both formats. Only posts since `ENRICHED` contain the topics. */
function measure({ id, handle, followers }: SampleAuthor) {
  const userId = String(BigInt(id) % 1_000_000_007n);
  const score = Math.min(99, 10 + Math.round(6 * Math.log1p(followers)));
  const first = Number(BigInt(id) % BigInt(SUBJECTS.length));
  const topics = [first, first + 7].map((number, i) => {
    const index = number % SUBJECTS.length;
    const name = SUBJECTS[index] as string;
    return {
      id: String(10_000 + index),
      name,
      page: `${SITE}/topic/${name}`,
      score: Number(Math.max(score / 100 - i / 10, 0.01).toFixed(2)),
    };
  });
  return { score, userId, page: `${SITE}/user/${handle}`, topics };
}
