import path from 'node:path';
import ts from 'typescript';
import { root } from './pages.js';

const ENTRIES = {
  millrace: 'src/index.ts',
  'millrace/jetstream': 'src/jetstream/index.ts',
  'millrace/service': 'src/service/index.ts',
};
const config = ts.readConfigFile(path.join(root, 'tsconfig.json'), ts.sys.readFile).config;

export const compilerOptions = ts.parseJsonConfigFileContent(config, ts.sys, root).options;

/** A cache of parsed files by path, because parsing the library and its types takes seconds. */
const parsed = new Map<string, ts.SourceFile | undefined>();

/** Creates a program. Files that are in `texts` need not exist on disk. */
export function programOf(
  files: readonly string[],
  texts: ReadonlyMap<string, string> = new Map(),
  options = compilerOptions,
): ts.Program {
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile, getSourceFile } = host;
  host.fileExists = name => texts.has(name) || fileExists(name);
  host.readFile = name => texts.get(name) ?? readFile(name);
  host.getSourceFile = (name, how, ...rest) => {
    const text = texts.get(name);
    if (text !== undefined) return ts.createSourceFile(name, text, how);
    if (!parsed.has(name)) parsed.set(name, getSourceFile(name, how, ...rest));
    return parsed.get(name);
  };
  return ts.createProgram([...files, ...texts.keys()], options, host);
}

let program: ts.Program | undefined;

function checkerOf(): { readonly program: ts.Program; readonly checker: ts.TypeChecker } {
  program ??= programOf(Object.values(ENTRIES).map(file => path.join(root, file)));
  return { program, checker: program.getTypeChecker() };
}

export function publicExports(): Map<string, ts.Symbol> {
  const { program, checker } = checkerOf();
  const found = new Map<string, ts.Symbol>();
  const add = (module: ts.Symbol, prefix: string) => {
    for (const alias of checker.getExportsOfModule(module)) {
      const isAlias = (alias.flags & ts.SymbolFlags.Alias) !== 0;
      const symbol = isAlias ? checker.getAliasedSymbol(alias) : alias;
      if ((symbol.flags & ts.SymbolFlags.ValueModule) !== 0) add(symbol, `${prefix}${alias.name}.`);
      else found.set(`${prefix}${alias.name}`, symbol);
    }
  };
  for (const [name, file] of Object.entries(ENTRIES)) {
    const source = program.getSourceFile(path.join(root, file)) as ts.SourceFile;
    const module = checker.getSymbolAtLocation(source) as ts.Symbol;
    add(module, name === 'millrace' ? '' : `${name.slice('millrace/'.length)}:`);
  }
  return found;
}

export function exportNamed(name: string): ts.Symbol {
  const symbol = publicExports().get(name);
  if (symbol === undefined) throw new Error(`There is no export ${name}`);
  return symbol;
}

export function membersOf(name: string): string[] {
  return propertiesOf(exportNamed(name)).map(property => property.name);
}

export function kindsOf(name: string): Map<string, string[]> {
  const { checker } = checkerOf();
  const type = checker.getDeclaredTypeOfSymbol(exportNamed(name));
  const members = type.isUnion() ? type.types : [type];
  return new Map(
    members.flatMap(member => {
      const names = member.getProperties().map(property => property.name);
      const kind = checker.getTypeOfSymbol(member.getProperty('kind') as ts.Symbol);
      const kinds = kind.isUnion() ? kind.types : [kind];
      return kinds.map(one => [(one as ts.StringLiteralType).value, names] as const);
    }),
  );
}

export function literalsOf(name: string): string[] {
  const type = checkerOf().checker.getDeclaredTypeOfSymbol(exportNamed(name));
  const members = type.isUnion() ? type.types : [type];
  return members.map(member => (member as ts.StringLiteralType).value);
}

/** Returns the members of an exported interface, including inherited ones. */
export function propertiesOf(symbol: ts.Symbol): ts.Symbol[] {
  return checkerOf().checker.getDeclaredTypeOfSymbol(symbol).getProperties();
}

export function documentationOf(symbol: ts.Symbol): string {
  return ts.displayPartsToString(symbol.getDocumentationComment(checkerOf().checker));
}
