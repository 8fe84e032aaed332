import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { architecture, pages, root } from './pages.js';

/**
 * Phrases that are hard to read: a regular expression, what to write instead, and an example
 * sentence.
 */
const PHRASES = [
  [String.raw`\b[Gg]o(?:es)? on\b`, '"continues"', 'The run goes on at the cursor.'],
  [
    String.raw`\bWhere (?:there|it|a|the|no) `,
    '"if" for a condition, "the path of" for a place',
    'Where the file is missing, it is created.',
  ],
  [
    String.raw`\bwhere there (?:is|are|was|were)\b`,
    '"if" and a verb',
    'Creates it where there is none.',
  ],
  [String.raw`\ba text (?!file|field)`, '"a string"', 'Splits a text into words.'],
  [
    String.raw`\b(?:the|all|two|other|empty|different|longer|shorter) texts\b`,
    '"strings"',
    'Reads all texts of a field.',
  ],
  [String.raw`\b[Ii]n place of\b`, '"instead of"', 'Sent in place of the body.'],
  [String.raw`\bmade again\b`, '"recreated" or "repeated"', 'The request is made again.'],
  [String.raw`\bis there no more\b`, '"is gone"', 'The folder is there no more.'],
  [
    String.raw`\b(?<!\w )who (?:reads|adds|writes|calls) (?:it|them|some)\b`,
    '"the reader", "the caller"',
    'who reads it looks for the stage',
  ],
  [String.raw`\bnothing (?:is )?asked\b`, '"no requests sent"', 'complete, nothing asked'],
  [
    String.raw`\bhand(?:s|ed|ing)? (?:it |them |all )?on\b`,
    '"delivers", "calls `onFile`"',
    'Files that were handed on.',
  ],
  [String.raw`\bsa(?:y|ys|id) so\b`, 'what is said', 'The message says so.'],
  [
    String.raw`\bst(?:and|ands|ood) in (?:for|place)\b`,
    '"replaces"',
    'One stands in for the other.',
  ],
  [
    String.raw`\b[Ll](?:eft|eaves|eaving) (?:it |them )?out\b`,
    '"skips", "drops" or "omits"',
    'Leaves out empty lines.',
  ],
  [
    String.raw`(?<![Tt]here )(?<![Hh]ere )\b(?:is|are) no (?!longer|more|less)`,
    '"is not a"',
    'A text that is no time is refused.',
  ],
  [
    String.raw`\b(?:[Ww]hoever|for ever|anew|beforehand|[Hh]ence|thereof|shall)\b`,
    'a common word',
    'Begins anew.',
  ],
  [String.raw`\b(?:could|can)not be had\b`, 'what failed', 'The lock cannot be had.'],
  [String.raw`\b(?:goes|go) unheard\b`, '"is ignored"', 'A second error goes unheard.'],
  [String.raw`\bcame to nothing\b`, '"failed"', 'A run that came to nothing.'],
] as const;

/** Phrases that must not occur in comments. Messages and pages still contain some of them. */
const COMMENT_PHRASES = [
  [
    String.raw`\b(?:[Tt]hat|[Tt]hose) of\b`,
    'the noun again',
    'The clock is compared with that of the service.',
  ],
  [String.raw`\bstays? as (?:it is|they are)\b`, '"stays unchanged"', 'The file stays as it is.'],
  [String.raw`\bof (?:its|their) own\b`, '"separate"', 'Each thread has a finder of its own.'],
  [
    String.raw`\b[Mm]eanwhile\b`,
    '"since ..." or "during ..."',
    'Another run has written meanwhile.',
  ],
  [String.raw`\bpass(?:es|ed)? on\b`, '"forwards"', 'Posts are passed on without totals.'],
] as const;

/**
 * Compiles each phrase to a regular expression. A space in a phrase also matches a line break, with
 * the `*` or `//` at the start of the next line of a comment.
 */
function compiled(
  phrases: readonly (readonly [phrase: string, instead: string, example: string])[],
) {
  return phrases.map(
    ([phrase, instead]) =>
      [new RegExp(phrase.replaceAll(' ', String.raw`\s+(?:(?:\*|//)\s+)?`), 'g'), instead] as const,
  );
}

const COMPILED = compiled(PHRASES);
const COMPILED_FOR_COMMENTS = compiled(COMMENT_PHRASES);

/** Block comments, and lines that contain only a comment. */
const COMMENT = /^[ \t]*(?:\/\*[\s\S]*?\*\/|\/\/.*$)/gm;

/** Removes all code but keeps line breaks, so that line numbers stay correct. */
function commentsOf(source: string): string {
  let end = 0;
  let comments = '';
  for (const { 0: comment, index } of source.matchAll(COMMENT)) {
    comments += source.slice(end, index).replaceAll(/[^\n]/g, '') + comment;
    end = index + comment.length;
  }
  return comments;
}

function findPhrases(text: string, phrases = COMPILED): readonly string[] {
  return phrases.flatMap(([phrase, instead]) =>
    [...text.matchAll(phrase)].map(({ 0: found, index }) => {
      const line = text.slice(0, index).split('\n').length;
      return `line ${line}: "${found.replaceAll(/\s+(?:(?:\*|\/\/)\s+)?/g, ' ').trim()}": write ${instead}`;
    }),
  );
}

const sources = readdirSync(path.join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter(name => name.endsWith('.ts'))
  .map(name => path.posix.join('src', name.replaceAll('\\', '/')))
  .map(name => ({ name, text: readFileSync(path.join(root, name), 'utf8') }));

const contributing = '.github/CONTRIBUTING.md';

/**
 * The title in a call of `it`, `test` or `describe`, including `it.skipIf(...)(` and the call after
 * the table of `it.each`.
 */
const TITLE =
  /(?:\b(?:it|test|describe)(?:\.\w+(?:\([^()]*\))?)*|[\])\w]\))\(\s*(['"`])((?:\\.|(?!\1)[^\\])*)\1/g;

const titles = readdirSync(path.join(root, 'test'), { recursive: true, encoding: 'utf8' })
  .filter(name => name.endsWith('.test.ts'))
  .map(name => path.posix.join('test', name.replaceAll('\\', '/')))
  .map(name => {
    const found = readFileSync(path.join(root, name), 'utf8').matchAll(TITLE);
    return { name, text: [...found].map(([, , title]) => title).join('\n') };
  });

describe('the search for phrases that are hard to read', () => {
  it('reads the sources and the titles of tests', () => {
    expect(sources.length).toBeGreaterThan(400);
    expect(titles.flatMap(({ text }) => text.split('\n')).length).toBeGreaterThan(3_000);
    expect(titles.find(({ name }) => name === 'test/prose.test.ts')?.text).toContain(
      'reads the sources and the titles of tests',
    );
  });

  it.each([
    ['comments and messages of the sources', sources],
    ['titles of tests', titles],
    [
      'pages',
      [
        ...pages,
        architecture,
        { name: contributing, text: readFileSync(path.join(root, contributing), 'utf8') },
      ],
    ],
  ] as const)('finds no phrase in the %s', (_, files) => {
    const found = files.flatMap(({ name, text }) => findPhrases(text).map(one => `${name} ${one}`));
    expect(found).toEqual([]);
  });

  it('finds no phrase in comments that refers to another sentence', () => {
    const found = sources.flatMap(({ name, text }) =>
      findPhrases(commentsOf(text), COMPILED_FOR_COMMENTS).map(one => `${name} ${one}`),
    );
    expect(found).toEqual([]);
  });

  it.each(COMMENT_PHRASES.map(([, instead, example]) => [example, instead] as const))(
    'finds "%s" in comments only',
    (example, instead) => {
      const comment = `const one = 1;\n/**\n * ${example.replaceAll(' ', '\n * ')}\n */`;
      const [found = '', ...others] = findPhrases(commentsOf(comment), COMPILED_FOR_COMMENTS);
      expect(found.endsWith(instead)).toBe(true);
      expect(others).toEqual([]);
      expect(findPhrases(commentsOf(`const one = '${example}';`), COMPILED_FOR_COMMENTS)).toEqual(
        [],
      );
    },
  );

  it.each(PHRASES.map(([, instead, example]) => [example, instead] as const))(
    'finds a phrase in "%s"',
    (example, instead) => {
      const found = findPhrases(`/**\n * ${example.replaceAll(' ', '\n * ')}\n */`);
      expect(found.some(one => one.endsWith(instead))).toBe(true);
      expect(findPhrases(example).length).toBeGreaterThan(0);
    },
  );

  it.each([
    'Where to write the list.',
    'The text of a post, and all of its text.',
    'There is no cursor, and it is no longer used.',
    'Omit it, or leave it out of the list.',
  ])('finds no phrase in "%s"', sentence => {
    expect(findPhrases(sentence)).toEqual([]);
  });
});
