// Options of `npm run docs`, which writes the reference of every export to `out/reference`.
import { Comment, CommentTag, Converter, OptionDefaults, ReflectionKind } from 'typedoc';

/** The category of a function by what it returns. */
const CATEGORIES = new Map([
  ['Flow', 'Sources'],
  ['Operator', 'Operators'],
  ['Sink', 'Sinks'],
]);

/** Sorts exports into categories, and names pages by their headings. */
function arrange({ converter }) {
  converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    for (const found of project.getReflectionsByKind(ReflectionKind.SomeExport)) {
      const commented = found.signatures?.[0] ?? found;
      commented.comment ??= new Comment();
      commented.comment.blockTags.push(
        new CommentTag('@category', [{ kind: 'text', text: categoryOf(found) }]),
      );
    }
    for (const page of project.getReflectionsByKind(ReflectionKind.Document)) {
      const text = page.content.map(part => part.text).join('');
      const [, heading] = /^# (.*)\n/.exec(text) ?? [];
      if (heading !== undefined) page.name = heading;
    }
  });
}

function categoryOf(reflection) {
  if (reflection.kind === ReflectionKind.Module) return 'Entry points';
  if (reflection.kind === ReflectionKind.Namespace) return 'Calls';
  if (reflection.kind === ReflectionKind.Class)
    return /Error$/.test(reflection.name) ? 'Errors' : 'Types';
  if (reflection.signatures === undefined)
    return reflection.kind === ReflectionKind.Variable ? 'Values' : 'Types';
  return CATEGORIES.get(reflection.signatures[0].type?.name) ?? 'Calls';
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
    'Types',
    'Guides',
    '*',
  ],
  // For the check of unused exports.
  blockTags: [...OptionDefaults.blockTags, '@alias'],
  excludeExternals: true,
  excludeInternal: true,
  excludePrivate: true,
  treatWarningsAsErrors: true,
  validation: { notDocumented: false, notExported: false },
};
