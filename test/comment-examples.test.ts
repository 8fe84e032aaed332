import path from 'node:path';
import ts from 'typescript';
import { expect, it } from 'vitest';
import { root } from './pages.js';
import { compilerOptions, programOf, publicExports } from './public-api.js';

/**
 * Compiler errors that are ignored. An example may use names that it does not declare, whose type
 * is then unknown.
 */
const ALLOWED = [2304, 2552, 18004, 18046];

function examples(): { readonly name: string; readonly text: string }[] {
  return [...publicExports()].flatMap(([name, symbol]) =>
    symbol
      .getJsDocTags()
      .filter(tag => tag.name === 'example')
      .map((tag, index) => ({ name: `${name} ${index}`, text: ts.displayPartsToString(tag.text) })),
  );
}

function importsFor(text: string): string {
  const names = [...publicExports().keys()];
  const from = (prefix: string, module: string) => {
    const used = names
      .filter(name => name.startsWith('service:') === (prefix !== ''))
      .map(name => name.slice(prefix.length).split('.')[0] as string)
      .filter(name => new RegExp(`\\b${name}\\b`).test(text));
    return used.length === 0
      ? ''
      : `import { ${[...new Set(used)].join(', ')} } from '${module}';\n`;
  };
  return from('', 'millrace') + from('service:', 'millrace/service');
}

it('the code examples in comments of src have no type errors', () => {
  const all = examples();
  expect(all.length).toBeGreaterThan(50);
  const sources = new Map(
    all.map(({ text }, index) => {
      const code = text.replaceAll(/^```(ts)?$/gm, '');
      const imports = /^import /m.test(code) ? '' : importsFor(code);
      return [
        path.join(root, 'test', `comment-example-${index}.ts`),
        `${imports}${code}\nexport {};\n`,
      ];
    }),
  );
  const options = {
    ...compilerOptions,
    noEmit: true,
    noUnusedLocals: false,
    noUncheckedIndexedAccess: false,
  };
  const program = programOf([], sources, options);
  const wrong = [...sources.keys()].flatMap((file, index) =>
    ts
      .getPreEmitDiagnostics(program, program.getSourceFile(file))
      .filter(({ code }) => !ALLOWED.includes(code))
      .map(
        ({ messageText }) =>
          `${all[index]?.name}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`,
      ),
  );
  expect(wrong).toEqual([]);
});
