/**
 * Where a word stands in a post: the number of one of the post's lists of words, times
 * `PLACES`, and the place in that list. One number, since there are many of them.
 */
export type Occurrence = number;

export const PLACES = 0x100_0000;

/** What the words of a list are of; the list's number modulo 4. */
export const TEXT = 0;
export const ADDRESS = 1;
export const DISPLAY = 2;
export const FIELD = 3;

export const listOf = (occurrence: Occurrence): number => Math.floor(occurrence / PLACES);
export const placeOf = (occurrence: Occurrence): number => occurrence % PLACES;
export const kindOf = (list: number): number => list % 4;
