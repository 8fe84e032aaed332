import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

export const root = path.resolve(import.meta.dirname, '..');

export interface Page {
  readonly name: string;
  readonly text: string;
}

/** The architecture page for maintainers. It is not part of `pages`. */
export const architecture: Page = {
  name: 'src/README.md',
  text: readFileSync(path.join(root, 'src/README.md'), 'utf8'),
};

const isPage = (name: string) => /\.md$/.test(name) && name !== 'README.md';
const below = (folder: string) =>
  readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter(isPage)
    .map(name => path.posix.join(folder, name.replaceAll('\\', '/')))
    .sort();

export const pages: readonly Page[] = [
  ...['README.md', 'examples/README.md'],
  ...below('examples'),
  ...below('src'),
].map(name => ({ name, text: readFileSync(path.join(root, name), 'utf8') }));

export function pageNamed(name: string): Page {
  const page = pages.find(page => page.name === name);
  if (page === undefined) throw new Error(`There is no page ${name}`);
  return page;
}

export function blocksOf({ text }: Page, language: string): string[] {
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, 'gms'))].map(
    match => match[1] as string,
  );
}

export type Row = readonly string[];

/**
 * Returns the rows of a table, without its header. The table is below `heading`, and its first
 * column has the name `firstColumn`.
 */
export function tableOf({ name, text }: Page, heading: string, firstColumn: string): Row[] {
  const lines = text.split('\n');
  const isHeading = (line: string) => line.replace(/^#+ /, '') === heading && line.startsWith('#');
  const start = lines.findIndex(isHeading);
  const header = lines.findIndex(
    (line, index) => index > start && cellsOf(line)[0] === firstColumn,
  );
  if (start === -1 || header === -1)
    throw new Error(`${name} has no table of ${firstColumn} below ${heading}`);
  const rest = lines.slice(header + 2);
  const end = rest.findIndex(line => !line.startsWith('|'));
  return rest.slice(0, end).map(cellsOf);
}

const STAGE_TABLE = /^\| (?:Source|Operator|Sink) \|.*\n\|[-|]+\n((?:\|.*\n)+)/gm;

export function listedStages(): readonly string[] {
  return [...pageNamed('src/stages.md').text.matchAll(STAGE_TABLE)]
    .flatMap(([, rows = '']) => rows.trim().split('\n'))
    .flatMap(row => namesIn(cellsOf(row)[0]))
    .map(name => name.replace(/\(.*/s, ''));
}

export function namesIn(cell: string | undefined): string[] {
  return [...(cell ?? '').matchAll(/`([^`]+)`/g)].map(match => match[1] as string);
}

function cellsOf(line: string): Row {
  return line
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map(cell => cell.trim());
}
