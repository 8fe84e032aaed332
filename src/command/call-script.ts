import { isRecord } from '../is-record.js';

/** The public exports of the library, by name. */
export type Library = Readonly<Record<string, unknown>>;

/** A call of a public export, `jobs.run` for one within a namespace. */
export class Call {
  readonly name: string;
  readonly args: readonly unknown[];

  constructor(name: string, args: readonly unknown[]) {
    this.name = name;
    this.args = args;
  }
}

/** What the command has and a script reaches by import, or not at all. */
export interface Running {
  readonly library: Library;
  /** Aborted by Ctrl+C. */
  readonly signal: AbortSignal;
  readonly progress: 'auto' | 'off';
  /** Asks on a terminal; without a yes it throws. */
  readonly confirm: (question: string) => Promise<true>;
}

/** A value that a script writes as code, such as a function or a stream. Without text, the script leaves it out. */
export class Code {
  readonly text: string | undefined;
  readonly value: (running: Running) => unknown;

  constructor(text: string | undefined, value: (running: Running) => unknown) {
    this.text = text;
    this.value = value;
  }
}

/** A name that the script declares. */
export class Name {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/**
 * What a command does, as a script of this library: the command runs it, and `--print-script` prints it. So both do
 * the same.
 */
export interface Script {
  /** The constants before the call, in order. */
  readonly constants: Readonly<Record<string, Call>>;
  readonly call: Call;
  /** The result in words. Without it, the result is printed as JSON, a line for each element of a list. */
  readonly report?: ((result: unknown, library: Library) => string) | undefined;
  /** Whether the call itself writes to standard output. */
  readonly isOnStdout?: boolean | undefined;
  /** Whether the result means that something is wrong: the command then ends with 1. */
  readonly isWrong?: ((result: unknown) => boolean) | undefined;
}

/** Runs a script, and closes what it opened. */
export async function runScript(script: Script, running: Running): Promise<unknown> {
  const names = new Map<string, unknown>();
  try {
    for (const [name, call] of Object.entries(script.constants))
      names.set(name, await evaluate(call, running, names));
    return await evaluate(script.call, running, names);
  } finally {
    for (const value of names.values()) await closeOf(value)?.call(value);
  }
}

/** The text of a script that runs with tsx. */
export function printScript({ constants, call, isOnStdout }: Script): string {
  const lines = Object.entries(constants).map(
    ([name, made]) => `const ${name} = ${AWAITED.has(made.name) ? 'await ' : ''}${print(made)};`,
  );
  const main = `await ${print(call)};`;
  lines.push(isOnStdout ? main : `const result = ${main}`);
  if (!isOnStdout) lines.push('console.log(result);');
  const body = `${lines.join('\n')}\n`;
  const used = [...new Set(importsOf([...Object.values(constants), call]))].toSorted();
  const imports = [`import { ${used.join(', ')} } from 'millrace';`];
  if (body.includes('readFileSync(')) imports.unshift("import { readFileSync } from 'node:fs';");
  return `${imports.join('\n')}\n\n${body}`;
}

/** The longest object in one line. */
const LINE = 80;
const AWAITED = new Set(['openTombstones', 'jobs.run']);

async function evaluate(
  value: unknown,
  running: Running,
  names: ReadonlyMap<string, unknown>,
): Promise<unknown> {
  if (value instanceof Name) return names.get(value.name);
  if (value instanceof Code) return value.value(running);
  if (value instanceof Call) {
    const call = exportNamed(running.library, value.name);
    const args: unknown[] = [];
    for (const arg of value.args) args.push(await evaluate(arg, running, names));
    return (call as (...given: readonly unknown[]) => unknown)(...args);
  }
  if (!isPlain(value)) return value;
  const members: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(value))
    members[name] = await evaluate(member, running, names);
  return members;
}

/** A public export by its name, such as `search` or `jobs.run`. */
export function exportNamed(library: Library, name: string): unknown {
  let found: unknown = library;
  for (const part of name.split('.')) found = (found as Library)[part];
  return found;
}

function print(value: unknown, indent = ''): string {
  const inner = `${indent}  `;
  if (value instanceof Name) return value.name;
  if (value instanceof Code) return value.text ?? '';
  if (value instanceof Call) {
    const args = value.args.filter(isPrinted).map(arg => print(arg, inner));
    const short = `${value.name}(${args.join(', ')})`;
    if (value.name !== 'pipeline') return short;
    return `${value.name}(\n${args.map(arg => `${inner}${arg},\n`).join('')}${indent})`;
  }
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
  return line.length <= LINE
    ? line
    : `{\n${members.map(member => `${inner}${member},\n`).join('')}${indent}}`;
}

/** Whether anything of a value is in the text of a script. */
function isPrinted(value: unknown): boolean {
  if (value === undefined || (value instanceof Code && value.text === undefined)) return false;
  const members = isPlain(value) ? Object.values(value) : [];
  return members.length === 0 || members.some(isPrinted);
}

/** The names that a script imports: the first part of each call and constant. */
function importsOf(value: unknown): string[] {
  if (value instanceof Call) return [rootOf(value.name), ...value.args.flatMap(importsOf)];
  if (value instanceof Code) return /^tables\./.test(value.text ?? '') ? ['tables'] : [];
  if (Array.isArray(value)) return value.flatMap(importsOf);
  return isPlain(value) ? Object.values(value).flatMap(importsOf) : [];
}

const rootOf = (name: string) => name.split('.')[0] as string;

function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  return isRecord(value) && Object.getPrototypeOf(value) === Object.prototype;
}

function closeOf(value: unknown): (() => unknown) | undefined {
  const { close } = Object(value) as { readonly close?: () => unknown };
  return typeof close === 'function' ? close : undefined;
}

/** Text as a literal. */
export function quoted(text: string): string {
  return /['\\\p{Cc}]/u.test(text) ? JSON.stringify(text) : `'${text}'`;
}
