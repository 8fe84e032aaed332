import path from 'node:path';
import { StorageError } from '../../base/errors.js';

export const PART = '.part';

export interface OutputNamesOptions {
  /** The folder against which relative paths are resolved. */
  readonly folder: string;
  readonly reserved: readonly string[];
  /**
   * Which sink owns each output, by the output's absolute path. All sinks that run together share this map.
   */
  readonly claims: Map<string, unknown>;
}

const MIN_DIGITS = 4;
const STEM = /^(.*?[^/\\])((?:\.[^./\\]+)?(?:\.(?:gz|zst))?)$/s;
/**
 * A mark that is inserted into the name of an output if the name itself is reserved. `safeName` never returns
 * a name with this mark.
 */
const RESERVED_MARK = '%=';

/** Assigns the names of outputs. No output gets a reserved name, and no two sinks write the same file. */
export class OutputNames {
  readonly #folder: string;
  readonly #reserved: ReadonlySet<string>;
  readonly #claims: Map<string, unknown>;

  constructor({ folder, reserved, claims }: OutputNamesOptions) {
    this.#folder = folder;
    this.#reserved = new Set(reserved.map(file => this.absolute(file)));
    this.#claims = claims;
  }

  /** Returns the absolute path. All spellings of a path give the same absolute path. */
  absolute(file: string): string {
    const absolute = path.resolve(this.#folder, file);
    // If both strings are equal, the caller's string is returned, so that the new copy can be freed. There
    // may be many thousands of outputs.
    return absolute === file ? file : absolute;
  }

  /**
   * Returns the path. If the path belongs to the checkpoint, a lock or a `.part` file, returns a different
   * one instead.
   */
  unreserved(file: string): string {
    if (isPart(file) || this.#reserved.has(this.absolute(file))) return markedName(file);
    return file;
  }

  /** Makes `owner` the only sink that may write the file. Returns the file's absolute path. */
  claim(file: string, owner: unknown): string {
    const key = this.absolute(file);
    const claimed = this.#claims.get(key);
    if (claimed !== undefined && claimed !== owner)
      throw new StorageError(
        `Two branches of tee() write ${file}. Choose a \`path\` for each that the other cannot have`,
        { path: file },
      );
    this.#claims.set(key, owner);
    return key;
  }
}

/**
 * Adds a number to the name of a file. For example, `out/snow.jsonl.gz` and 2 give `out/snow.0002.jsonl.gz`.
 */
export function numberedName(file: string, number: number): string {
  const [, stem = file, extension = ''] = STEM.exec(file) ?? [];
  return `${stem}.${String(number).padStart(MIN_DIGITS, '0')}${extension}`;
}

/** Adds the reserved mark to the name of a file. For example, `out/run.json` gives `out/run%=.json`. */
function markedName(file: string): string {
  if (isPart(file)) return file + RESERVED_MARK;
  const [, stem = file, extension = ''] = STEM.exec(file) ?? [];
  return stem + RESERVED_MARK + extension;
}

function isPart(file: string): boolean {
  return file.toLowerCase().endsWith(PART);
}
