import { CLOSE_ARRAY, COMMA, OPEN_OBJECT } from '../../json/byte-codes.js';
import { exactId } from '../parse-post.js';
import type { Elements, MemberFinder, WantedMembers } from './find-members.js';
import { readMember } from './member-values.js';

/**
 * Returns the value of a wanted member of the current element. `place` is the index of the member, counted
 * depth first.
 */
type ReadMember = (place: number) => unknown;

interface ListOfObjects {
  readonly key: string;
  readonly wanted: WantedMembers;
  element(read: ReadMember, isObject: (place: number) => boolean): object;
}

const tag = { wanted: { text: true }, element: (read: ReadMember) => ({ text: read(0) }) } as const;

/** The lists that `ListInBytes` can read. Each list has the same key in both formats. */
export const LISTS: readonly ListOfObjects[] = [
  { key: 'hashtags', ...tag },
  { key: 'symbols', ...tag },
  {
    key: 'user_mentions',
    wanted: { id: true, id_str: true, screen_name: true },
    element(read) {
      const idString = read(1);
      return { id: exactId(read(0), idString), id_str: idString, screen_name: read(2) };
    },
  },
  {
    key: 'media',
    wanted: { type: true, media_url: true, media_url_https: true },
    element: read => ({ type: read(0), media_url: read(1), media_url_https: read(2) }),
  },
  {
    key: 'urls',
    wanted: {
      url: true,
      expanded_url: true,
      display_url: true,
      unwound: { url: true, title: true, description: true },
      expanded_url_title: true,
      expanded_url_description: true,
    },
    element: (read, isObject) => ({
      url: read(0),
      expanded_url: read(1),
      display_url: read(2),
      unwound: isObject(3) ? { url: read(4), title: read(5), description: read(6) } : read(3),
      expanded_url_title: read(7),
      expanded_url_description: read(8),
    }),
  },
];

/**
 * Reads a list of objects from the bytes of a post. Parsing the list as JSON would take several times as
 * long.
 */
export class ListInBytes {
  readonly #finder: MemberFinder;
  readonly #elements: Elements;
  readonly #list: ListOfObjects;

  constructor(finder: MemberFinder, list: ListOfObjects) {
    this.#finder = finder;
    this.#elements = finder.elements(list.wanted);
    this.#list = list;
  }

  /**
   * Returns the wanted members of each element of the list from `start` to `end`. Returns `undefined` if the
   * caller must parse the list as JSON instead.
   *
   * @throws LeftToParser if an element has a value that only the JSON parser can read.
   */
  read(start: number, end: number): readonly object[] | undefined {
    const { bytes } = this.#finder;
    const list: object[] = [];
    let at = start;
    do {
      at = this.#elements.read(at + 1);
      if (at === 0) return undefined;
      list.push(this.#list.element(this.#member, this.#isObject));
    } while (bytes[at] === COMMA);
    return at === end - 1 && bytes[at] === CLOSE_ARRAY ? list : undefined;
  }

  readonly #isObject = (place: number): boolean => {
    const start = this.#finder.spans[this.#elements.first + 2 * place]!;
    return start !== 0 && this.#finder.bytes[start] === OPEN_OBJECT;
  };

  readonly #member = (place: number): unknown =>
    readMember(this.#finder, this.#elements.first + 2 * place);
}
