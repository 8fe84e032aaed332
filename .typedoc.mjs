// Options of `npm run docs`, which writes the reference of all exports to `out/reference`.
import { Comment, CommentTag, Converter, OptionDefaults, ReflectionKind } from 'typedoc';

/** The category of a function, by the type that it returns. */
const CATEGORIES = new Map([
  ['Flow', 'Sources'],
  ['Operator', 'Operators'],
  ['Sink', 'Sinks'],
]);

/** Sorts exports into categories, joins their errors into one list, and names pages by their headings. */
function arrange({ converter }) {
  converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    for (const found of project.getReflectionsByKind(ReflectionKind.SomeExport)) {
      const commented = found.signatures?.[0] ?? found;
      commented.comment ??= new Comment();
      commented.comment.blockTags.push(
        new CommentTag('@category', [{ kind: 'text', text: categoryOf(found) }]),
      );
    }
    for (const { comment } of Object.values(project.reflections)) joinThrows(comment);
    for (const page of project.getReflectionsByKind(ReflectionKind.Document)) {
      const text = page.content.map(part => part.text).join('');
      const [, heading] = /^# (.*)\n/.exec(text) ?? [];
      if (heading !== undefined) page.name = heading;
    }
  });
  // The theme already shows the project's name above the README, so this removes the heading.
  converter.on(Converter.EVENT_RESOLVE_END, ({ project }) => {
    const [first] = project.readme ?? [];
    if (first !== undefined) first.text = first.text.replace(/^# .*\n+/, '');
  });
}

/** Joins several `@throws` of a comment into one list. */
function joinThrows(comment) {
  const all = comment?.getTags('@throws') ?? [];
  if (all.length < 2) return;
  const items = all.flatMap(({ content }) => [
    { kind: 'text', text: '\n- ' },
    ...content.map(part => ({ ...part, text: part.text.replaceAll('\n', '\n  ') })),
  ]);
  const first = comment.blockTags.indexOf(all[0]);
  comment.blockTags[first] = new CommentTag('@throws', items);
  for (const tag of all.slice(1)) comment.blockTags.splice(comment.blockTags.indexOf(tag), 1);
}

function categoryOf(reflection) {
  if (reflection.kind === ReflectionKind.Module) return 'Entry points';
  if (reflection.kind === ReflectionKind.Namespace) return 'Calls';
  if (reflection.kind === ReflectionKind.Class)
    return /Error$/.test(reflection.name) ? 'Errors' : 'Types';
  if (reflection.kind === ReflectionKind.Variable) return 'Values';
  if (reflection.signatures === undefined)
    return /Options$/.test(reflection.name) ? 'Options' : 'Types';
  const types = reflection.signatures.map(({ type }) => CATEGORIES.get(type?.name));
  return types.find(category => category !== undefined) ?? 'Calls';
}

export default {
  name: 'Millrace',
  plugin: [arrange],
  entryPoints: ['src/index.ts', 'src/jetstream/index.ts', 'src/service/index.ts'],
  projectDocuments: ['examples/*.md', 'src/stages.md', 'src/SECURITY.md', 'src/*/README.md'],
  tsconfig: 'src/tsconfig.json',
  out: 'out/reference',
  readme: 'README.md',
  highlightLanguages: [
    'ts',
    'js',
    'mjs',
    'json',
    'sh',
    'python',
    'sql',
    'yaml',
    'dockerfile',
    'ini',
  ],
  categorizeByGroup: false,
  navigation: { includeCategories: true, includeGroups: false },
  defaultCategory: 'Guides',
  categoryOrder: [
    'Entry points',
    'Sources',
    'Operators',
    'Sinks',
    'Calls',
    'Errors',
    'Values',
    'Options',
    'Types',
    'Guides',
    '*',
  ],
  // The check of unused exports uses `@alias`.
  blockTags: [...OptionDefaults.blockTags, '@alias'],
  excludeExternals: true,
  excludeInternal: true,
  excludePrivate: true,
  treatWarningsAsErrors: true,
  validation: { notDocumented: false, notExported: false },
};
