import path from 'node:path';
import ts from 'typescript';
import { root } from '../pages.js';
import { programOf } from '../public-api.js';

const FILE = path.join(root, 'test/types/wrong-calls.ts');

/** An error of the compiler: the code that it marks, and what it says. */
export interface CompileError {
  readonly marked: string;
  readonly says: string;
}

/** The errors of each call, compiled as a user would: by name. `before` has the imports and declarations of all calls. */
export function errorsOf<Name extends string>(
  before: string,
  calls: Readonly<Record<Name, string>>,
): Map<Name, readonly CompileError[]> {
  const names = Object.keys(calls) as Name[];
  const lines = names.map((name, index) => `export const call${index} = () => ${calls[name]};`);
  const source = `${before}\n${lines.join('\n')}`;
  const program = programOf([], new Map([[FILE, source]]));
  const found = program.getSemanticDiagnostics(program.getSourceFile(FILE));
  const starts = lines.map(line => source.indexOf(line));
  return new Map(
    names.map((name, index) => [
      name,
      found
        .filter(
          ({ start = 0 }) =>
            start >= (index === 0 ? 0 : starts[index]!) && start < (starts[index + 1] ?? Infinity),
        )
        .map(({ start = 0, length = 0, messageText }) => ({
          marked: source.slice(start, start + length),
          says: ts.flattenDiagnosticMessageText(messageText, '\n'),
        })),
    ]),
  );
}
