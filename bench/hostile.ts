import { Activity, rules } from 'millrace';
import type { Study } from './question.js';

interface Case {
  readonly name: string;
  /** Returns the function to measure. The function has an input of about `length` characters. */
  prepare(length: number): () => unknown;
}

const LENGTHS = [4_000, 16_000, 64_000];

/**
 * Measures strings and rules that are designed to be slow. The time must not grow faster than the
 * length of the input.
 */
export const hostile: Study = {
  name: 'hostile',
  title: 'Hostile posts and rules: how does time grow with length',
  run({ quick }) {
    const passes = quick ? 3 : 15;
    const rows = CASES.map(({ name, prepare }) => {
      const times = LENGTHS.map(length => fastest(prepare(length), passes));
      const growth = (times.at(-1) as number) / (times[0] as number);
      return [name, ...times.map(time => time.toFixed(2)), growth.toFixed(0)];
    });
    const header = ['', ...LENGTHS.map(length => `${length.toLocaleString('en')}, ms`), 'growth'];
    const markdown = [
      `The fastest of ${passes} runs, by the number of UTF-16 units. The longest is sixteen times the shortest: ` +
        'work that is linear grows by about 16, quadratic work by 256.',
      '',
      ...[header, header.map((_, i) => (i === 0 ? '---' : '---:')), ...rows].map(
        cells => `| ${cells.join(' | ')} |`,
      ),
      '',
    ].join('\n');
    return { markdown, charts: [] };
  },
};

const CASES: readonly Case[] = [
  post('post: one mark over and over', length => `a${'\u0301'.repeat(length)}`),
  post('post: marks that sorting moves', length => `a${'\u0301\u0323'.repeat(length / 2)}`),
  post('post: letters beyond the basic plane', length => '𐐷'.repeat(length / 2)),
  post('post: keycaps', length => '1\ufe0f\u20e3'.repeat(length / 3)),
  post('post: one character without spaces', length => '的'.repeat(length)),
  rule('rule: marks on one letter', length => `a${'\u0301'.repeat(length)}`),
  rule('rule: groups in groups of stop words', length => nested('(the ', 'the ', length)),
  rule('rule: alternatives in alternatives', length => nested('(is:reply OR ', 'the ', length)),
  rule('rule: quotes that do not close', length => '"a '.repeat(length / 3)),
];

/**
 * Creates a case that matches a post against rules. The words of the rules almost match the words
 * of the post.
 */
function post(name: string, textOf: (length: number) => string): Case {
  const words = [`${'的'.repeat(1_000)}x`, '"a\u0301 b"', 'contains:"\u0301\u0301x"', '𐐷𐐷', '1️⃣x'];
  return {
    name,
    prepare(length) {
      const matcher = rules.compileAll(words.map(value => ({ value })));
      const raw = { created_at: '', id_str: '1', text: textOf(length) };
      const activity = new Activity(Buffer.from(JSON.stringify(raw)));
      return () => matcher.match(activity);
    },
  };
}

function rule(name: string, textOf: (length: number) => string): Case {
  return {
    name,
    prepare(length) {
      const text = textOf(length);
      return () => rules.check(text, { product: 'search' });
    },
  };
}

/**
 * Returns nested groups. The opening groups take up to half of the length, and are nested at most
 * as deeply as rules allow. The content of the innermost group takes the other half.
 */
function nested(open: string, inner: string, length: number): string {
  const groups = Math.min(1_000, Math.floor(length / 2 / open.length));
  return `${open.repeat(groups)}${inner.repeat(length / 2 / inner.length)}a${')'.repeat(groups)}`;
}

function fastest(work: () => unknown, passes: number): number {
  const times = Array.from({ length: passes }, () => {
    const started = performance.now();
    work();
    return performance.now() - started;
  });
  return Math.min(...times);
}
