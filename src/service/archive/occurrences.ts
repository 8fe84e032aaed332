/**
 * The position of a word in a post: the number of one of the post's texts, times `TEXT_STRIDE`, plus
 * the index of the word in that text. A single number, because an index has many of them.
 */
export type Occurrence = number;

export const TEXT_STRIDE = 0x100_0000;

/** The kind of a text is its number modulo 4. */
export const TEXT = 0;
export const ADDRESS = 1;
export const DISPLAY = 2;
export const FIELD = 3;

export type TextKind = typeof TEXT | typeof ADDRESS | typeof DISPLAY | typeof FIELD;

export const textOf = (occurrence: Occurrence): number => Math.floor(occurrence / TEXT_STRIDE);
export const indexOf = (occurrence: Occurrence): number => occurrence % TEXT_STRIDE;
export const kindOf = (text: number): TextKind => (text % 4) as TextKind;
