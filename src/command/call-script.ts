import { isRecord } from '../base/record.js';

export type Library = Readonly<Record<string, unknown>>;

/**
 * A call of a public export, such as `search` or `jobs.run`, in the script of a command. `constant`
 * names the constant in which the script keeps the result. It is set if several calls use the
 * result, or if the script must close it at the end.
 */
export class Call {
  readonly name: string;
  readonly args: readonly unknown[];
  readonly constant: string | undefined;

  constructor(name: string, args: readonly unknown[] = [], constant?: string) {
    this.name = name;
    this.args = args;
    this.constant = constant;
  }
}

/**
 * The argument of `Code.value`. It holds what a running command has and a printed script lacks,
 * such as the signal for Ctrl+C.
 */
export interface ScriptContext {
  readonly library: Library;
  readonly signal: AbortSignal;
  readonly progress: 'auto' | 'off';
  /** Asks a question on the terminal. Throws unless the answer is yes. */
  readonly confirm: (question: string) => Promise<true>;
}

/**
 * A value that JSON cannot express, such as a function or a stream. The printed script contains `text`, or
 * nothing if `text` is undefined. The running command uses the result of `value`.
 */
export class Code {
  readonly text: string | undefined;
  readonly value: (context: ScriptContext) => unknown;

  constructor(text: string | undefined, value: (context: ScriptContext) => unknown) {
    this.text = text;
    this.value = value;
  }
}

/**
 * What a command does, as a script that uses this library. The command runs the script, and `--print-script`
 * prints it, so both do the same.
 */
export interface Script {
  readonly call: Call;
  /**
   * Describes the result in words, which are printed to stderr. If absent, the result itself is
   * printed to standard output. On a terminal, `table` formats it. Otherwise, it is JSON with one
   * line for each element of a list.
   */
  readonly report?: ((result: unknown, library: Library) => string) | undefined;
  readonly reported?: ((result: unknown) => unknown) | undefined;
  /** Formats the result for a person at a terminal. @default `terminalText` */
  readonly table?: ((result: unknown, library: Library) => string) | undefined;
  /** Whether the call itself writes to standard output. */
  readonly isOnStdout?: boolean | undefined;
  /** Whether the result means that something is wrong, in which case the command ends with exit code 1. */
  readonly isWrong?: ((result: unknown) => boolean) | undefined;
}

/** Runs a script, then closes the values of its constants, such as opened tombstones. */
export async function runScript({ call }: Script, context: ScriptContext): Promise<unknown> {
  const constants = new Map<Call, unknown>();
  try {
    return await evaluate(call, context, constants);
  } finally {
    for (const value of constants.values()) await closeOf(value)?.call(value);
  }
}

export function printScript({ call, isOnStdout }: Script): string {
  const values = [...new Set(valuesIn(call))];
  const constants = values.filter(value => value instanceof Call && value.constant !== undefined);
  const lines = (constants as readonly Call[]).map(made => {
    const awaited = AWAITED.has(made.name) ? 'await ' : '';
    return `const ${made.constant} = ${awaited}${printCall(made, '')};`;
  });
  const main = `await ${print(call)};`;
  lines.push(isOnStdout ? main : `const result = ${main}`);
  if (!isOnStdout) lines.push('console.log(result);');
  const body = `${lines.join('\n')}\n`;
  const used = [...new Set(values.flatMap(importOf))].toSorted();
  const imports = [`import { ${used.join(', ')} } from 'millrace';`];
  if (body.includes('readFileSync(')) imports.unshift("import { readFileSync } from 'node:fs';");
  return `${imports.join('\n')}\n\n${body}`;
}

/** The maximum length of an object that is printed on one line. */
const MAX_LINE_LENGTH = 80;
const AWAITED = new Set(['openTombstones', 'jobs.run']);

async function evaluate(
  value: unknown,
  context: ScriptContext,
  constants: Map<Call, unknown>,
): Promise<unknown> {
  if (value instanceof Code) return value.value(context);
  if (value instanceof Call) {
    if (constants.has(value)) return constants.get(value);
    const call = exportNamed(context.library, value.name);
    const args: unknown[] = [];
    for (const arg of value.args) args.push(await evaluate(arg, context, constants));
    const result = await (call as (...given: readonly unknown[]) => unknown)(...args);
    if (value.constant !== undefined) constants.set(value, result);
    return result;
  }
  if (!isPlain(value)) return value;
  const members: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(value))
    members[name] = await evaluate(member, context, constants);
  return members;
}

export function exportNamed(library: Library, name: string): unknown {
  let found: unknown = library;
  for (const part of name.split('.')) found = (found as Library)[part];
  return found;
}

function print(value: unknown, indent = ''): string {
  const inner = `${indent}  `;
  if (value instanceof Code) return value.text ?? '';
  if (value instanceof Call) return value.constant ?? printCall(value, indent);
  if (typeof value === 'string') return quoted(value);
  if (Array.isArray(value)) return `[${value.map(one => print(one)).join(', ')}]`;
  if (!isPlain(value)) return String(value);
  const members = Object.entries(value)
    .filter(([, member]) => isPrinted(member))
    .map(([name, member]) => {
      const text = print(member, inner);
      return text === name ? name : `${name}: ${text}`;
    });
  const line = `{ ${members.join(', ')} }`;
  if (members.length === 0) return '{}';
  return line.length <= MAX_LINE_LENGTH
    ? line
    : `{\n${members.map(member => `${inner}${member},\n`).join('')}${indent}}`;
}

function printCall({ name, args }: Call, indent: string): string {
  const inner = `${indent}  `;
  const printed = args.filter(isPrinted).map(arg => print(arg, inner));
  if (name !== 'pipeline') return `${name}(${printed.join(', ')})`;
  return `${name}(\n${printed.map(arg => `${inner}${arg},\n`).join('')}${indent})`;
}

function isPrinted(value: unknown): boolean {
  if (value === undefined || (value instanceof Code && value.text === undefined)) return false;
  const members = isPlain(value) ? Object.values(value) : [];
  return members.length === 0 || members.some(isPrinted);
}

/**
 * Returns a value and all values in it. The arguments of a call come before the call, so that the script
 * declares each constant before using it.
 */
function valuesIn(value: unknown): unknown[] {
  if (value instanceof Call) return [...value.args.flatMap(valuesIn), value];
  return isPlain(value) ? [...Object.values(value).flatMap(valuesIn), value] : [value];
}

function importOf(value: unknown): readonly string[] {
  if (value instanceof Call) return [value.name.split('.')[0] as string];
  return value instanceof Code && /^tables\./.test(value.text ?? '') ? ['tables'] : [];
}

function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  return isRecord(value) && Object.getPrototypeOf(value) === Object.prototype;
}

function closeOf(value: unknown): (() => unknown) | undefined {
  const { close } = Object(value) as { readonly close?: () => unknown };
  return typeof close === 'function' ? close : undefined;
}

export function quoted(text: string): string {
  return /['\\\p{Cc}]/u.test(text) ? JSON.stringify(text) : `'${text}'`;
}
