import stringWidth from 'string-width';
import { checkValue, made, required } from '../../base/check.js';
import type { Span } from '../tree.js';
import { type CheckOptions, checkRule } from './check-rule.js';
import { RULE_TEXT } from './parse-rule.js';
import type { Problem } from './problem.js';

const PROBLEM = required(
  made<Problem>('the problem to show', 'one of the `problems` that `rules.check` gave', [
    'code',
    'explanation',
    'start',
    'end',
  ]),
);

/**
 * Formats a problem as readable text: what is wrong, the rule with carets under the problem, and what to do.
 * Carets are aligned even under wide characters. If the rule is long, only the part around the problem is
 * shown.
 *
 * @throws OptionError If the rule is not a string, or if `problem` is not a problem.
 * @example
 * // error[R014]: unknown value `vidoes` for `has:`
 * //   | cat (dog OR has:vidoes)
 * //   |                 ^^^^^^ did you mean `videos`?
 * //   = allowed: geo, hashtags, images, links, media, mentions, profile_geo, symbols, videos
 */
export function renderProblem(text: string, problem: Problem): string {
  checkValue('rules.renderProblem', 'rule', RULE_TEXT, text);
  checkValue('rules.renderProblem', 'problem', PROBLEM, problem);
  const { severity, code, explanation, related, suggestion, note } = problem;
  const line = lineAround(text, problem.start);
  const cells = cellsOf(text, line, problem);
  const number = line.number === undefined ? '' : String(line.number);
  const gutter = `${' '.repeat(number.length)}  |`;
  const opening = related !== undefined && isWithin(related, cells) ? related : undefined;
  const marks = marked(cells, problem, '^', opening && marked(cells, opening, '-'));
  const rows = [
    `${severity}[${code}]: ${explanation}`,
    `${number}  | ${cells.map(cell => cell.text).join('')}`,
    `${gutter} ${marks} ${suggestion?.label ?? ''}`,
  ];
  if (opening !== undefined)
    rows.push(`${gutter} ${' '.repeat(columnOf(cells, opening))}${opening.label}`);
  if (note !== undefined) rows.push(`${' '.repeat(number.length)}  = ${note}`);
  return rows.map(row => row.trimEnd()).join('\n');
}

/**
 * The maximum width of the shown part of a rule, in columns. Only the `CONTEXT` UTF-16 units before and after
 * the start of the problem are considered for that part.
 */
const COLUMNS = 96;
const CONTEXT = 400;

interface Line extends Span {
  /**
   * The number of the line within the text of the rule, from 1. `undefined` if the rule has only one line.
   */
  readonly number: number | undefined;
}

function lineAround(text: string, at: number): Line {
  const start = text.lastIndexOf('\n', at - 1) + 1;
  const next = text.indexOf('\n', at);
  const end = next === -1 ? text.length : next;
  if (start === 0 && next === -1) return { start, end, number: undefined };
  return { start, end, number: text.slice(0, start).split('\n').length };
}

/** One grapheme as displayed. */
interface Cell extends Span {
  readonly text: string;
  readonly width: number;
}

function cellsOf(text: string, line: Line, span: Span): Cell[] {
  const from = Math.max(line.start, span.start - CONTEXT);
  const to = Math.min(line.end, span.start + CONTEXT);
  const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });
  const cells = Array.from(graphemes.segment(text.slice(from, to)), ({ segment, index }) => {
    const shown = printable(segment);
    const start = from + index;
    return { text: shown, width: stringWidth(shown), start, end: start + segment.length };
  });
  return cut(cells, line, span);
}

/** Replaces tabs, control characters and direction marks. Otherwise, they would move the text after them. */
function printable(grapheme: string): string {
  if (/^\s+$/.test(grapheme)) return grapheme === '\u3000' ? '  ' : ' ';
  return grapheme.replace(/[\p{Cc}\p{Cs}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, '\ufffd');
}

/**
 * Returns the graphemes around the problem, as many as fit in `COLUMNS`. An ellipsis replaces the other
 * graphemes.
 */
function cut(cells: readonly Cell[], line: Line, span: Span): Cell[] {
  const index = cells.findIndex(cell => cell.end > span.start);
  let first = index === -1 ? cells.length : index;
  let last = first;
  let width = 0;
  while (width < COLUMNS && (first > 0 || last < cells.length)) {
    if (first > 0) width += cells[--first]!.width;
    if (last < cells.length) width += cells[last++]!.width;
  }
  const shown = cells.slice(first, last);
  const start = shown[0]?.start ?? line.start;
  const end = shown.at(-1)?.end ?? line.end;
  if (start > line.start) shown.unshift({ text: '…', width: 1, start: -1, end: -1 });
  if (end < line.end) shown.push({ text: '…', width: 1, start: end, end: line.end });
  return shown;
}

function isWithin(span: Span, cells: readonly Cell[]): boolean {
  return cells.some(cell => cell.start <= span.start && span.start < cell.end && cell.text !== '…');
}

/**
 * Adds a mark under a span, in the row below the rule. An empty span, such as the end of the text, also gets
 * a mark.
 */
function marked(cells: readonly Cell[], span: Span, mark: string, row = ''): string {
  const under = cells.filter(cell => cell.end > span.start && cell.start < span.end);
  return row.padEnd(columnOf(cells, span)) + mark.repeat(Math.max(1, widthOf(under)));
}

function columnOf(cells: readonly Cell[], { start }: Span): number {
  return widthOf(cells.filter(cell => cell.end <= start));
}

function widthOf(cells: readonly Cell[]): number {
  return cells.reduce((width, cell) => width + cell.width, 0);
}

/**
 * Explains the mistake of passing rules as strings instead of objects. Returns the end of a message that
 * starts with the name of the option. Returns `undefined` if no rule is a string.
 */
export function textRuleProblem(rules: unknown): string | undefined {
  const list: readonly unknown[] = Array.isArray(rules) ? rules : [rules];
  const text = list.find(rule => typeof rule === 'string');
  if (text === undefined) return undefined;
  const short = text.length > 60 ? `${text.slice(0, 60)}...` : text;
  const quoted = short.includes("'") ? JSON.stringify(short) : `'${short}'`;
  return `must be an array of objects: write { value: ${quoted} } instead of ${quoted}`;
}

/**
 * Returns the errors for which a product refuses a rule. Each is formatted as readable text, with carets and
 * suggestions. Returns an empty array if the product accepts the rule. Warnings are not included.
 */
export function ruleErrors(value: string, options: CheckOptions): string[] {
  return checkRule(value, options)
    .problems.filter(problem => problem.severity === 'error')
    .map(problem => renderProblem(value, problem));
}
