import path from 'node:path';
import ts from 'typescript';
import { root } from '../pages.js';
import { programOf } from '../public-api.js';

const FILE = path.join(root, 'test/types/wrong-calls.ts');

/** A compiler error, with the code that it underlines and its message. */
export interface CompileError {
  readonly marked: string;
  readonly says: string;
}

/**
 * Compiles each call as a user would compile it. Returns the errors by the name of the call.
 * `before` contains the imports and declarations that all calls use.
 */
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
