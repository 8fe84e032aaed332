import { DataError } from '../base/errors.js';

/** The headers of a message, besides its id (`Nats-Msg-Id`), which the client sets. */
export const HEADERS = {
  /** The name of the publisher. */
  publisher: 'Millrace-Publisher',
  /** Which start of this publisher sent it, see `epochs.ts`. */
  epoch: 'Millrace-Epoch',
  /** How many posts the publisher had sent before: 0 for the first one. */
  position: 'Millrace-Position',
  /** The position of the message among those of its publisher and subject, see `lost-and-repeated.ts`. */
  subjectPosition: 'Millrace-Subject-Position',
  /** The format of the posts, where it is the same for all. */
  format: 'Millrace-Format',
  /** The distinct tags of the matching rules, as a JSON array. */
  tags: 'Millrace-Tags',
  /** The ids of the posts, with commas between them. */
  ids: 'Millrace-Ids',
  /** In a batch: the length of each post in bytes. A line feed separates the posts. */
  lengths: 'Millrace-Lengths',
  /** How the payload is compressed: `gzip` or `zstd`. */
  encoding: 'Millrace-Encoding',
} as const;

/** Headers to send, as pairs. */
export type Headers = readonly (readonly [name: string, value: string])[];

/** Headers of a message that was read. The value of an absent header is empty. */
export interface HeaderReader {
  get(name: string): string;
}

/** The position of a message among those of its publisher and subject. */
export interface SubjectPosition {
  /** How many messages of this publisher and subject came before it, in all runs of the publisher. */
  readonly position: number;
  /** When the message got its position, all positions below this one were acknowledged: the stream has them before it. */
  readonly acknowledged: number;
  /** The epoch in which the publisher began to count positions; once its entry was deleted, it begins a new series. */
  readonly series: number;
}

/**
 * The epoch of a message that a publisher has sent.
 *
 * @throws DataError
 */
export function epochOf(headers: HeaderReader | undefined): number {
  const text = headers?.get(HEADERS.epoch) ?? '';
  // A number with more digits is refused: a cursor could not keep it, and the next run would stop.
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw wrongHeader('epoch', text, 'a whole number');
}

function wrongHeader(name: keyof typeof HEADERS, text: string, wanted: string): DataError {
  const got = JSON.stringify(text.slice(0, 60));
  return new DataError(`A message has the header ${HEADERS[name]} ${got}, and not ${wanted}`);
}

// Numbers with more digits could not be kept exactly by a cursor.
const POSITION = /^(\d{1,15}) (\d{1,15}) (\d{1,15})$/;

/** The value of the header with a position. */
export function shownPosition({ position, acknowledged, series }: SubjectPosition): string {
  return `${position} ${acknowledged} ${series}`;
}

/**
 * The position of a message; `undefined` for a message of another program.
 *
 * @throws DataError
 */
export function subjectPositionOf(headers: HeaderReader | undefined): SubjectPosition | undefined {
  const text = headers?.get(HEADERS.subjectPosition) ?? '';
  if (text === '') return undefined;
  const [, position, acknowledged, series] = POSITION.exec(text) ?? [];
  if (series === undefined) throw wrongHeader('subjectPosition', text, 'three whole numbers');
  return {
    position: Number(position),
    acknowledged: Number(acknowledged),
    series: Number(series),
  };
}
