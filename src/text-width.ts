import { eastAsianWidth } from 'get-east-asian-width';

const ASCII = /^[ -~]*$/;
/** Control characters, combining marks, joiners and the like. */
const INVISIBLE = /^[\p{Cc}\p{Cs}\p{Mn}\p{Me}\p{Default_Ignorable_Code_Point}]/u;
const EMOJI = /\p{Emoji_Presentation}|\p{Regional_Indicator}{2}|\p{Emoji}\ufe0f/u;

/** Made when it is first used, as it loads tables of Unicode for several milliseconds. */
let segmenter: Intl.Segmenter | undefined;

/** The graphemes of a text: what people take for one character. */
export function graphemesOf(text: string): Iterable<Intl.SegmentData> {
  segmenter ??= new Intl.Segmenter('en', { granularity: 'grapheme' });
  return segmenter.segment(text);
}

/** The number of columns that a text takes on a terminal. */
export function textWidth(text: string): number {
  if (ASCII.test(text)) return text.length;
  return Array.from(graphemesOf(text)).reduce(
    (sum, { segment }) => sum + graphemeWidth(segment),
    0,
  );
}

function graphemeWidth(grapheme: string): number {
  if (INVISIBLE.test(grapheme)) return 0;
  return EMOJI.test(grapheme) ? 2 : eastAsianWidth(grapheme.codePointAt(0) as number);
}
