import { DAY, FIRST_POST } from '../../base/time.js';
import { getOrMake } from '../cache.js';
import { Random, type Seed } from './random.js';
import { snowflake, USER_SNOWFLAKES } from './sample-ids.js';
import {
  LANGUAGES,
  languageAt,
  PLACES,
  type SampleLanguage,
  type SamplePlace,
} from './sample-vocabulary.js';
import vocabulary from './vocabulary.json' with { type: 'json' };

/** An author of posts. Only the counts change over time. */
export interface SampleAuthor {
  readonly id: string;
  readonly handle: string;
  readonly name: string;
  readonly description: string | null;
  readonly url: string | null;
  /** The location in the profile: often a city, sometimes a joke, sometimes empty. */
  readonly location: string | null;
  /** The city in `location`, if the service recognises it. */
  readonly home: SamplePlace | undefined;
  /** The index of the place from which the author posts. */
  readonly city: number;
  readonly language: SampleLanguage;
  /** The time at which the account was created, in epoch milliseconds. */
  readonly createdAt: number;
  readonly verified: boolean;
  readonly isDefaultProfile: boolean;
  /** The colours of background, links, sidebar border, sidebar and text, each as 6 hexadecimal digits. */
  readonly colors: readonly string[];
  readonly theme: number;
  readonly image: string;
  readonly banner: string | undefined;
  /** The number of followers when the account was created. It grows with the age of the account. */
  readonly followers: number;
  /** The number of friends when the account was created. It grows with the age of the account. */
  readonly friends: number;
  readonly statusesPerDay: number;
}

/** The number of authors once all of them have joined. */
export const AUTHORS = 40_000;
const FOUNDERS = 300;
const LAST_JOINED = Date.UTC(2024, 0, 1);
const SALT = -7;
const { handles } = vocabulary;
/** The words of all handles, except the last word of each handle, which ends in the number of the author. */
const FIRST_WORDS = new Set(
  handles.first.flatMap(head =>
    handles.last.flatMap(tail =>
      [`${head}_${tail}`, head + tail].flatMap(letters => letters.split('_').slice(0, -1)),
    ),
  ),
);
const DEFAULT_COLORS = ['F5F8FA', '1DA1F2', 'C0DEED', 'DDEEF6', '333333'];

/** An array of 100 indices of languages. Each language occurs as often as its percentage. */
const LANGUAGE_OF_PERCENT = LANGUAGES.flatMap(({ percent }, i) => Array<number>(percent).fill(i));
/**
 * For each language, the indices in `PLACES` of the cities where its authors live. Cities of likely countries
 * are repeated, so that a random choice finds them more often.
 */
const CITIES = LANGUAGES.map(({ countries }) =>
  countries.flatMap(country => PLACES.flatMap((place, i) => (place.code === country ? [i] : []))),
);

export interface SampleHome {
  readonly language: number;
  readonly city: number;
  readonly home: SamplePlace | undefined;
}

/** The authors of one seed. They are generated on demand, and the last few thousand are cached. */
export class SampleAuthors {
  readonly #seed: Seed;
  readonly #random = new Random();
  readonly #recent = new Map<number, SampleAuthor>();
  readonly #handles: string[] = [];
  /**
   * For each author, the index of the language and the index of the city, each plus 1; 0 means unknown. They are
   * cached, because each post of an author needs them.
   */
  readonly #languages = new Uint8Array(AUTHORS);
  readonly #cities = new Uint16Array(AUTHORS);

  constructor(seed: Seed) {
    this.#seed = seed;
  }

  /** Returns the number of authors who have joined by a given time. The number grows slowly at first. */
  static countAt(at: number): number {
    const progress = Math.min(Math.max((at - FIRST_POST) / (LAST_JOINED - FIRST_POST), 0), 1);
    return FOUNDERS + Math.floor((AUTHORS - FOUNDERS) * progress * progress);
  }

  /**
   * Returns whether a handle may contain a word. `false` is always right; `true` may be wrong. Most searches
   * for a word that no handle contains can thus end without creating all handles.
   */
  static mayHaveWord(word: string): boolean {
    return /\d$/.test(word) || FIRST_WORDS.has(word);
  }

  isVerified(index: number): boolean {
    return index % 97 === 3;
  }

  languageOf(index: number): number {
    if (this.#languages[index] === 0) this.livesIn(index);
    return (this.#languages[index] as number) - 1;
  }

  cityOf(index: number): number {
    if (this.#cities[index] === 0) this.livesIn(index);
    return (this.#cities[index] as number) - 1;
  }

  /** Returns an author's language and city, without generating the rest of the author. */
  livesIn(index: number): SampleHome {
    const random = this.#random.seed(this.#seed, SALT, index);
    const language = LANGUAGE_OF_PERCENT[random.below(100)] as number;
    const city = random.pick(CITIES[language] as readonly number[]);
    this.#languages[index] = language + 1;
    this.#cities[index] = city + 1;
    return { language, city, home: random.chance(60) ? PLACES[city] : undefined };
  }

  /** Returns the handle, without `@`. */
  handleOf(index: number): string {
    this.#handles[index] ??= handleOf(this.#random.seed(this.#seed, SALT - 1, index), index);
    return this.#handles[index];
  }

  at(index: number): SampleAuthor {
    if (this.#recent.size > 8192) this.#recent.clear();
    return getOrMake(this.#recent, index, () => this.#make(index));
  }

  #make(index: number): SampleAuthor {
    const handle = this.handleOf(index);
    const { language: number, city, home } = this.livesIn(index);
    // `livesIn` has seeded `#random` for this author. The values below continue that random sequence.
    const random = this.#random;
    const language = languageAt(number);
    const verified = this.isVerified(index);
    const createdAt = joinedAt(index);
    const isDefaultProfile = random.chance(35);
    const image = `/profile_images/${random.next() >>> 0}${random.below(1e6)}/${code(random, 8)}_normal.jpg`;
    const id =
      createdAt < USER_SNOWFLAKES
        ? String(12 + index + Math.floor((createdAt - FIRST_POST) * 0.0132))
        : snowflake(createdAt, (random.below(1024) << 12) | (index & 0xfff));
    return {
      id,
      handle,
      name: nameOf(random, language),
      description: random.chance(85) ? describe(random, language) : null,
      url: random.chance(30) ? `https://t.co/${code(random, 10)}` : null,
      location: home === undefined ? elsewhere(random) : `${home.name}, ${home.region}`,
      home,
      city,
      language,
      createdAt,
      verified,
      isDefaultProfile,
      colors: isDefaultProfile ? DEFAULT_COLORS : Array.from({ length: 5 }, () => color(random)),
      theme: isDefaultProfile ? 1 : 1 + random.below(19),
      image,
      banner: isDefaultProfile
        ? undefined
        : `https://pbs.twimg.com/profile_banners/${id}/${1_300_000_000 + random.below(400_000_000)}`,
      followers: Math.floor(Math.exp(random.unit() * 7 + (verified ? 6 : 2))),
      friends: Math.floor(Math.exp(random.unit() * 6 + 1)),
      statusesPerDay: random.unit() * random.unit() * 20,
    };
  }
}

export function yearsOf(author: SampleAuthor, at: number): number {
  return Math.max(at - author.createdAt, 0) / (365 * DAY);
}

function joinedAt(index: number): number {
  if (index < FOUNDERS) return FIRST_POST + index;
  const progress = Math.sqrt((index - FOUNDERS + 1) / (AUTHORS - FOUNDERS));
  // The result is a minute early, so that rounding never lets an author post before joining.
  return Math.floor(FIRST_POST + (LAST_JOINED - FIRST_POST) * progress) - 60_000;
}

/**
 * Returns a handle of at most 15 Latin letters, digits and `_`. The handle is unique, because it ends in the
 * index of the author.
 */
function handleOf(random: Random, index: number): string {
  const head = random.pick(handles.first);
  const tail = random.pick(handles.last);
  const joint = random.chance(40) ? '_' : '';
  const letters = random.chance(25) ? `${capital(head)}${capital(tail)}` : `${head}${joint}${tail}`;
  return letters.slice(0, 15 - String(index).length) + index;
}

const PHRASE_MARKS = ['', '', '', '', ' ☕', ' 🌱', ' 🎧', ' 🏳️‍🌈', ' ⚽', ' 📷'];

function nameOf(random: Random, language: SampleLanguage): string {
  const first = random.pick(language.givenNames);
  const last = random.pick(language.familyNames);
  const familyFirst = language.code === 'ja' || language.code === 'ko';
  const name = familyFirst ? `${last}${first}` : random.chance(60) ? `${first} ${last}` : first;
  return name + random.pick(PHRASE_MARKS);
}

function describe(random: Random, language: SampleLanguage): string {
  const first = random.pick(language.bios);
  const second = random.pick(language.bios);
  return first === second || random.chance(40) ? first : `${first} ${second}`;
}

function elsewhere(random: Random): string | null {
  const places = ['here and there', '🌍', 'the internet', '127.0.0.1', 'between two trains'];
  return random.chance(40) ? random.pick(places) : null;
}

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** Returns a code of `length` letters and digits, as in short links. */
function code(random: Random, length: number): string {
  return Array.from({ length }, () => DIGITS.charAt((random.next() >>> 0) % 62)).join('');
}

function color(random: Random): string {
  return random.below(0x100_0000).toString(16).padStart(6, '0').toUpperCase();
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
