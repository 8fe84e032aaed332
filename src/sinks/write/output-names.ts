import path from 'node:path';
import { StorageError } from '../../base/errors.js';

/** The suffix of a file that is being written. */
export const PART = '.part';

export interface OutputNamesOptions {
  /** The folder that relative paths start from. */
  readonly folder: string;
  /** Paths that must not be used for outputs. */
  readonly reserved: readonly string[];
  /** The owner of each output, by absolute path, for all sinks that run together. */
  readonly claims: Map<string, unknown>;
}

const MIN_DIGITS = 4;
const STEM = /^(.*?[^/\\])((?:\.[^./\\]+)?(?:\.(?:gz|zst))?)$/s;
/** Inserted into the name of an output if its own name is reserved. `safeName` never returns it. */
const RESERVED_MARK = '%=';

/** Assigns the names of outputs, so that none is reserved and no two sinks write the same file. */
export class OutputNames {
  readonly #folder: string;
  readonly #reserved: ReadonlySet<string>;
  readonly #claims: Map<string, unknown>;

  constructor({ folder, reserved, claims }: OutputNamesOptions) {
    this.#folder = folder;
    this.#reserved = new Set(reserved.map(file => this.absolute(file)));
    this.#claims = claims;
  }

  /** The absolute path. It is the same for all spellings of a path. */
  absolute(file: string): string {
    const absolute = path.resolve(this.#folder, file);
    // Returns the caller's string if both are equal, so that the copy can be freed. There may be many thousands of
    // outputs.
    return absolute === file ? file : absolute;
  }

  /** The path itself, or another path if the checkpoint, a lock or a part has that name. */
  unreserved(file: string): string {
    if (isPart(file) || this.#reserved.has(this.absolute(file))) return markedName(file);
    return file;
  }

  /** Makes `owner` the only writer of the file, and returns its absolute path. */
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

/** Adds a number to the name of a file: `out/snow.jsonl.gz` and 2 give `out/snow.0002.jsonl.gz`. */
export function numberedName(file: string, number: number): string {
  const [, stem = file, extension = ''] = STEM.exec(file) ?? [];
  return `${stem}.${String(number).padStart(MIN_DIGITS, '0')}${extension}`;
}

/** Marks the name of a file: `out/run.json` gives `out/run%=.json`. */
function markedName(file: string): string {
  if (isPart(file)) return file + RESERVED_MARK;
  const [, stem = file, extension = ''] = STEM.exec(file) ?? [];
  return stem + RESERVED_MARK + extension;
}

function isPart(file: string): boolean {
  return file.toLowerCase().endsWith(PART);
}
