import { AUTHORS, type SampleAuthors } from './sample-authors.js';
import {
  CASHTAGS,
  COMMON_TAGS,
  EMOJI,
  LANGUAGES,
  LINKS,
  languageAt,
  NAMES,
  type SampleLanguage,
  type SampleLink,
  SHORT_LINK,
  SHORT_LINK_LENGTH,
  sampleLink,
  sampleName,
  TOPICS,
} from './sample-vocabulary.js';

/** A fragment of the text of a post. The fragments of a post are joined with spaces. */
interface Fragment {
  readonly text: string;
  /** The length in code points, the unit of entity indices. */
  readonly length: number;
  /** The entity in the fragment, if there is one. Offsets are in code points from the start of the fragment. */
  readonly entity?: FragmentEntity | undefined;
}

export type FragmentEntity = {
  readonly start: number;
  readonly end: number;
} & (
  | { readonly kind: 'hashtag' | 'symbol'; readonly text: string }
  | { readonly kind: 'mention'; readonly author: number }
  | { readonly kind: 'link'; readonly link: SampleLink }
);

/**
 * The kinds of fragments from which the text of sample posts is built. `fragmentKey` combines a kind and a
 * subject, such as a word, an author or a link, into an integer.
 */
const SENTENCE = 0;
const REMARK = 1;
const LEAD = 2;
export const NAME = 3;
export const EMOTION = 4;
const TAG = 5;
export const CASHTAG = 6;
export const MENTION = 7;
export const LINK = 8;

export const WORDS = TOPICS * 4;

/** The number of different fragments of each kind. The index is the kind. */
const SUBJECTS = [
  LANGUAGES.length * 4096,
  LANGUAGES.length * 32,
  LANGUAGES.length * 32,
  NAMES,
  EMOJI.length,
  LANGUAGES.length * 128,
  CASHTAGS.length,
  AUTHORS,
  LINKS,
];
/** For each kind of fragment, its lowest key. */
const FIRST_KEYS = SUBJECTS.map((_, kind) =>
  SUBJECTS.slice(0, kind).reduce((sum, count) => sum + count, 0),
);
/**
 * The number of possible fragments. Their keys are the integers below this number, which is small enough for
 * an array with an element for each key.
 */
export const FRAGMENTS: number = SUBJECTS.reduce((sum, count) => sum + count, 0);

export const fragmentKey = (kind: number, of: number): number => (FIRST_KEYS[kind] as number) + of;

/**
 * Returns the key of the fragment that is a sentence about a word. `tagged` means that the word is written as
 * a hashtag.
 */
export function sentenceKey(
  language: number,
  sentence: number,
  word: number,
  tagged: boolean,
): number {
  return fragmentKey(SENTENCE, ((language * 32 + sentence) * 64 + word) * 2 + (tagged ? 1 : 0));
}

export const remarkKey = (language: number, remark: number) =>
  fragmentKey(REMARK, language * 32 + remark);
export const leadKey = (language: number, lead: number) => fragmentKey(LEAD, language * 32 + lead);
/**
 * Returns the key of the fragment that is the hashtag of a word. `word` is an index in the words of the
 * language. Indexes from `WORDS` on mean common tags.
 */
export const tagKey = (language: number, word: number) => fragmentKey(TAG, language * 128 + word);

/**
 * The text fragments of one seed, by key. All of them are cached, because there are few compared to the
 * number of posts.
 */
export class SampleFragments {
  readonly #authors: SampleAuthors;
  readonly #made = new Array<Fragment | undefined>(FRAGMENTS);
  /** The length of each fragment; 0 means unknown. */
  readonly #lengths = new Uint16Array(FRAGMENTS);

  constructor(authors: SampleAuthors) {
    this.#authors = authors;
  }

  get(key: number): Fragment {
    const made = this.#made[key];
    if (made !== undefined) return made;
    const fragment = this.#make(...splitKey(key));
    this.#made[key] = fragment;
    return fragment;
  }

  /** Returns the length in code points of the fragments joined with spaces. */
  lengthOf(keys: readonly number[]): number {
    let length = Math.max(keys.length - 1, 0);
    for (const key of keys) length += this.#lengths[key] || this.#measure(key);
    return length;
  }

  /**
   * Measures a fragment for the first time, and returns its length. A month has 80,000 names, mentions and
   * links, so they are measured without creating their fragments.
   */
  #measure(key: number): number {
    const [kind, of] = splitKey(key);
    const length =
      kind === NAME
        ? codePoints(sampleName(of))
        : kind === MENTION
          ? this.#authors.handleOf(of).length + 1
          : kind === LINK
            ? SHORT_LINK_LENGTH
            : this.get(key).length;
    this.#lengths[key] = length;
    return length;
  }

  #make(kind: number, of: number): Fragment {
    switch (kind) {
      case SENTENCE:
        return sentence(of);
      case REMARK:
        return plain(languageAt(of >>> 5).remarks[of & 31] as string);
      case LEAD:
        return plain(languageAt(of >>> 5).leads[of & 31] as string);
      case NAME:
        return plain(sampleName(of));
      case EMOTION:
        return plain(EMOJI[of] as string);
      case TAG:
        return tag(of);
      case CASHTAG:
        return marked('symbol', '$', CASHTAGS[of] as string);
      case MENTION: {
        const handle = this.#authors.handleOf(of);
        return {
          ...plain(`@${handle}`),
          entity: { kind: 'mention', author: of, start: 0, end: handle.length + 1 },
        };
      }
      default: {
        const link = sampleLink(of);
        return {
          ...plain(SHORT_LINK + link.code),
          entity: { kind: 'link', link, start: 0, end: SHORT_LINK_LENGTH },
        };
      }
    }
  }
}

function splitKey(key: number): readonly [kind: number, of: number] {
  const kind = FIRST_KEYS.findLastIndex(first => first <= key);
  return [kind, key - (FIRST_KEYS[kind] as number)];
}

export function codePoints(text: string): number {
  let length = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit >= 0xd800 && unit < 0xdc00) length--;
  }
  return length;
}

function sentence(of: number): Fragment {
  const word = (of >>> 1) & 63;
  const language = languageAt(of >>> 12);
  const text = language.sentences[(of >>> 7) & 31] as string;
  if ((of & 1) === 0) return plain(text.replace('%', wordAt(language, word)));
  const name = hashtagOf(language, word);
  const start = codePoints(text.slice(0, text.indexOf('%')));
  return {
    ...plain(text.replace('%', `#${name}`)),
    entity: { kind: 'hashtag', text: name, start, end: start + codePoints(name) + 1 },
  };
}

function tag(of: number): Fragment {
  const word = of & 127;
  return marked(
    'hashtag',
    '#',
    word < WORDS ? hashtagOf(languageAt(of >>> 7), word) : (COMMON_TAGS[word - WORDS] as string),
  );
}

function marked(kind: 'hashtag' | 'symbol', mark: string, text: string): Fragment {
  const fragment = plain(mark + text);
  return { ...fragment, entity: { kind, text, start: 0, end: fragment.length } };
}

function plain(text: string): Fragment {
  return { text, length: codePoints(text) };
}

/** Returns a word that the sentences of a language are about. `word` is below `WORDS`. */
export function wordAt(language: SampleLanguage, word: number): string {
  return (language.topics[word >>> 2] as readonly string[])[word & 3] as string;
}

const ARTICLES =
  /^(?:(?:the|my|el|la|los|las|mi|o|a|os|as|meu|minha|le|les|mon|ma|der|die|das|mein|meine) |l')/i;

/** Writes a word as a hashtag, without its article, spaces and punctuation. */
export function hashtagOf(language: SampleLanguage, word: number): string {
  return wordAt(language, word)
    .replace(ARTICLES, '')
    .replace(/[^\p{L}\p{N}\p{M}]/gu, '');
}
