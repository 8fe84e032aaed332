import { DAY, FIRST_POST } from '../../../time.js';
import type { SampleLanguage } from './languages/language.js';
import { LANGUAGES } from './languages/languages.js';
import { Random, type Seed } from './random.js';
import { shortCode, snowflake, USER_SNOWFLAKES } from './sample-ids.js';
import { PLACES, type SamplePlace } from './sample-places.js';

/** Someone who writes posts: the same at any time but for the counts. */
export interface SampleAuthor {
  readonly id: string;
  readonly handle: string;
  readonly name: string;
  readonly description: string | null;
  readonly url: string | null;
  /** What the profile says: often a city, sometimes a joke, sometimes nothing. */
  readonly location: string | null;
  /** The city that the profile was recognised to name. */
  readonly home: SamplePlace | undefined;
  /** Where they post from. */
  readonly city: number;
  readonly language: SampleLanguage;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  readonly verified: boolean;
  readonly isDefaultProfile: boolean;
  readonly image: string;
  readonly banner: string | undefined;
  /** Counts of a year's age; older accounts have more. */
  readonly followers: number;
  readonly friends: number;
  readonly statusesPerDay: number;
}

/** How many authors there are once all have joined. */
export const AUTHORS = 40_000;
const FOUNDERS = 300;
const LAST_JOINED = Date.UTC(2024, 0, 1);
const SALT = -7;

/** The authors of one seed. Made when asked for; the latest few thousand are kept. */
export class SampleAuthors {
  readonly #seed: Seed;
  readonly #random = new Random();
  readonly #recent = new Map<number, SampleAuthor>();
  readonly #handles: string[] = [];

  constructor(seed: Seed) {
    this.#seed = seed;
  }

  /** How many had joined by then. They join slowly at first. */
  static countAt(at: number): number {
    const progress = Math.min(Math.max((at - FIRST_POST) / (LAST_JOINED - FIRST_POST), 0), 1);
    return FOUNDERS + Math.floor((AUTHORS - FOUNDERS) * progress * progress);
  }

  /** The language of an author, without making the author. */
  languageOf(index: number): number {
    const share = this.#random.seed(this.#seed, SALT, index).below(100);
    let sum = 0;
    for (let i = 0; i < LANGUAGES.length; i++) {
      sum += (LANGUAGES[i] as SampleLanguage).share;
      if (share < sum) return i;
    }
    return 0;
  }

  /** Without `@`. */
  handleOf(index: number): string {
    let handle = this.#handles[index];
    if (handle === undefined) {
      handle = handleOf(this.#random.seed(this.#seed, SALT - 1, index), index);
      this.#handles[index] = handle;
    }
    return handle;
  }

  at(index: number): SampleAuthor {
    let author = this.#recent.get(index);
    if (author === undefined) {
      author = this.#make(index);
      if (this.#recent.size >= 8192) this.#recent.clear();
      this.#recent.set(index, author);
    }
    return author;
  }

  #make(index: number): SampleAuthor {
    const language = LANGUAGES[this.languageOf(index)] as SampleLanguage;
    const handle = this.handleOf(index);
    const random = this.#random.seed(this.#seed, SALT, index);
    random.next();
    const createdAt = joinedAt(index);
    const given = random.below(language.givenNames.length);
    const family = random.below(language.familyNames.length);
    const country = random.pick(language.countries);
    const cities = PLACES.flatMap((place, i) => (place.code === country ? [i] : []));
    const city = cities[random.below(cities.length)] ?? 0;
    const place = PLACES[city] as SamplePlace;
    const recognised = random.chance(60);
    const isDefaultProfile = random.chance(35);
    const image = `/profile_images/${random.next()}${random.below(1e6)}/${shortCode(() => random.next(), 8)}_normal.jpg`;
    const id =
      createdAt < USER_SNOWFLAKES
        ? String(12 + index + Math.floor((createdAt - FIRST_POST) * 0.0132))
        : snowflake(createdAt, (random.below(1024) << 12) | (index & 0xfff));
    return {
      id,
      handle,
      name: nameOf(random, language, given, family, country),
      description: random.chance(85) ? describe(random, language) : null,
      url: random.chance(30) ? `https://t.co/${shortCode(() => random.next(), 10)}` : null,
      location: recognised
        ? `${place.name}, ${place.region}`
        : random.chance(40)
          ? random.pick(['here and there', '🌍', 'the internet', '127.0.0.1', 'between two trains'])
          : null,
      home: recognised ? place : undefined,
      city,
      language,
      createdAt,
      verified: index % 97 === 3,
      isDefaultProfile,
      image,
      banner: isDefaultProfile
        ? undefined
        : `https://pbs.twimg.com/profile_banners/${id}/${1_300_000_000 + random.below(400_000_000)}`,
      followers: Math.floor(Math.exp(random.unit() * 7 + 2 + (index % 97 === 3 ? 4 : 0))),
      friends: Math.floor(Math.exp(random.unit() * 6 + 1)),
      statusesPerDay: random.unit() * random.unit() * 20,
    };
  }
}

/** Years between joining and `at`. */
export function yearsOf(author: SampleAuthor, at: number): number {
  return Math.max(at - author.createdAt, 0) / (365 * DAY);
}

function joinedAt(index: number): number {
  if (index < FOUNDERS) return FIRST_POST + index;
  const progress = Math.sqrt((index - FOUNDERS + 1) / (AUTHORS - FOUNDERS));
  // A minute early, so that nobody posts before joining, whatever the rounding.
  return Math.floor(FIRST_POST + (LAST_JOINED - FIRST_POST) * progress) - 60_000;
}

const HANDLES =
  'luna mika otto nora theo ines hana kofi remy sana juno vera milo aya finn rosa enzo lila omar yuki tess bo ivo zara kai maya'.split(
    ' ',
  );
const HANDLE_TAILS =
  'writes reads bakes runs fc art photo codes news music sings talks plays maps tv lab pix daily on_air jp mx br xx _'.split(
    ' ',
  );

/** Latin letters, digits and `_`, at most 15, different for every author: the digits count. */
function handleOf(random: Random, index: number): string {
  const head = random.pick(HANDLES);
  const tail = random.pick(HANDLE_TAILS);
  const joint = random.chance(40) ? '_' : '';
  const letters = random.chance(25) ? `${capital(head)}${capital(tail)}` : `${head}${joint}${tail}`;
  return letters.slice(0, 15 - String(index).length) + index;
}

const PHRASE_MARKS = ['', '', '', '', ' ☕', ' 🌱', ' 🎧', ' 🏳️‍🌈', ' ⚽', ' 📷'];

function nameOf(
  random: Random,
  language: SampleLanguage,
  given: number,
  family: number,
  country: string,
): string {
  const first = language.givenNames[given] as string;
  const last = language.familyNames[family] as string;
  const familyFirst = country === 'JP' || country === 'KR';
  const name = familyFirst ? `${last}${first}` : random.chance(60) ? `${first} ${last}` : first;
  return name + random.pick(PHRASE_MARKS);
}

function describe(random: Random, language: SampleLanguage): string {
  const first = random.pick(language.bios);
  const second = random.pick(language.bios);
  return first === second || random.chance(40) ? first : `${first} ${second}`;
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
