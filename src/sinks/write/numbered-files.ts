import type { FileEntry } from './format.js';
import type { OutputFile } from './output-file.js';
import { numberedName } from './output-names.js';

export interface FilesByPath {
  /** Whether each commit ends all open files, because the format cannot continue a file later. */
  readonly endsFiles: boolean;
  /**
   * Returns the file for a path. If the path is reserved, for example for the checkpoint, the file gets a
   * different name.
   */
  fileAt(path: string): OutputFile;
  has(path: string): boolean;
  /** Called when a file has ended because it is full. */
  filledOne(): void;
}

/** The files for one path: a single file, or several numbered files if the size of files is limited. */
export class NumberedFiles {
  readonly #outputs: FilesByPath;
  readonly #path: string;
  readonly #maxBytes: number | undefined;
  #number = 0;
  #file: OutputFile | undefined;

  constructor(outputs: FilesByPath, path: string, maxBytes: number | undefined) {
    this.#outputs = outputs;
    this.#path = path;
    this.#maxBytes = maxBytes;
    // Sets `#number` to the number of the last file that an earlier run wrote. The first item goes to this
    // file unless it is full or finished.
    if (maxBytes !== undefined)
      while (outputs.has(numberedName(path, this.#number + 1))) this.#number++;
  }

  /**
   * Yields the names that would follow the last numbered file. Yields nothing unless the size of files is
   * limited.
   */
  *nextNames(): Generator<string> {
    if (this.#maxBytes === undefined) return;
    for (let number = this.#number + 1; ; number++) yield numberedName(this.#path, number);
  }

  add(entry: FileEntry): void {
    const file = this.fileFor(entry.byteLength);
    file.add(entry);
    // Usually, a full file is ended when the next item arrives. If each commit ends all files, it is ended
    // now, because a commit is then due.
    if (this.#outputs.endsFiles && this.#isFull(file, 0)) this.#end(file);
  }

  fileFor(byteLength: number): OutputFile {
    let file = this.#file;
    if (this.#maxBytes === undefined) {
      file ??= this.#outputs.fileAt(this.#path);
    } else if (file === undefined) {
      this.#number = Math.max(1, this.#number);
      file = this.#outputs.fileAt(numberedName(this.#path, this.#number));
    }
    // This is a loop, because the next file may already be full: another output may write to the same file
    // under a different spelling of its path.
    while (this.#isFull(file, byteLength)) {
      this.#end(file);
      file = this.#outputs.fileAt(numberedName(this.#path, ++this.#number));
    }
    this.#file = file;
    return file;
  }

  #isFull(file: OutputFile, byteLength: number): boolean {
    if (this.#maxBytes === undefined) return false;
    if (file.ended) return true;
    const { size } = file;
    return size > 0 && size + byteLength + 1 > this.#maxBytes;
  }

  #end(file: OutputFile): void {
    if (file.ended) return;
    file.end();
    this.#outputs.filledOne();
  }
}
