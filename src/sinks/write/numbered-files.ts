import type { FileEntry } from './format.js';
import type { OutputFile } from './output-file.js';
import { numberedName } from './output-names.js';

/** All files of a sink. */
export interface FilesByPath {
  /** Whether each commit ends all files. */
  readonly endsFiles: boolean;
  /** The file of a path. It gets another name if the path is reserved. */
  fileAt(path: string): OutputFile;
  /** Whether the path has a file. */
  has(path: string): boolean;
  /** Called when a file has ended because it was full. */
  filledOne(): void;
}

/** The files of one path: one file, or several numbered files if their size is limited. */
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
    // Skips to the last file of an earlier run. It is continued unless it is finished.
    if (maxBytes !== undefined)
      while (outputs.has(numberedName(path, this.#number + 1))) this.#number++;
  }

  add(entry: FileEntry): void {
    const file = this.fileFor(entry.byteLength);
    file.add(entry);
    // A commit waits for full files, so a full file must end now and not with the next item.
    if (this.#outputs.endsFiles && this.#isFull(file, 0)) this.#end(file);
  }

  /** The file for an entry of this size. */
  fileFor(byteLength: number): OutputFile {
    let file = this.#file;
    if (this.#maxBytes === undefined) {
      file ??= this.#outputs.fileAt(this.#path);
    } else if (file === undefined) {
      this.#number = Math.max(1, this.#number);
      file = this.#outputs.fileAt(numberedName(this.#path, this.#number));
    }
    // Repeated, because the next file may be full already: an output whose path is spelled
    // differently may also write to it.
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
