import path from 'node:path';
import type { FileStatus, FileSystem, OpenFile } from '../../src/storage/file-system.js';

/** What any call throws once the disk's power is off. */
export class PowerCut extends Error {}

type Change = { readonly at: number; readonly bytes: Uint8Array } | { readonly length: number };

let inodes = 0;

/** The data of a file: the last synced state, and the changes since. */
class Inode {
  safe: Buffer = Buffer.alloc(0);
  changes: Change[] = [];
  now: Buffer = Buffer.alloc(0);
  mtimeMs = Date.now();
  readonly ino = ++inodes;

  change(change: Change): void {
    this.mtimeMs = Date.now();
    this.changes.push(change);
    this.now = applied(this.now, change);
  }
}

interface NameChange {
  readonly folder: string;
  apply(names: Map<string, Inode | 'folder'>): void;
}

/**
 * A file system in memory that separates written data from data that survives a power cut: content
 * after fdatasync or fsync of the file, names after fsync of their folder. As on a real disk, a part of
 * the unsynced changes may survive; `random` selects it.
 */
export class SimulatedDisk implements FileSystem {
  #safeNames = new Map<string, Inode | 'folder'>([['/', 'folder']]);
  #names = new Map<string, Inode | 'folder'>([['/', 'folder']]);
  #nameChanges: NameChange[] = [];
  /** The number of calls so far, and the call at which the power fails. */
  calls = 0;
  cutAt = Number.POSITIVE_INFINITY;
  /** Makes a call fail or do only a part of its work. */
  before: (call: string, file: string) => void = () => {};

  files(): string[] {
    return [...this.#names]
      .filter(([, inode]) => inode !== 'folder')
      .map(([name]) => name)
      .sort();
  }

  read(file: string): Buffer {
    return this.#inode('read', file).now;
  }

  put(file: string, bytes: Uint8Array): void {
    const inode = new Inode();
    inode.safe = Buffer.from(bytes);
    inode.now = inode.safe;
    for (const names of [this.#names, this.#safeNames]) names.set(path.resolve(file), inode);
  }

  remove(file: string): void {
    for (const names of [this.#names, this.#safeNames]) names.delete(path.resolve(file));
  }

  /** The power returns: synced data is there, and a part of the rest, selected by `random` (0 to 1). */
  restart(random: () => number): void {
    const keptUpTo = new Map<string, number>();
    for (const { folder } of this.#nameChanges)
      if (!keptUpTo.has(folder)) {
        const count = this.#nameChanges.filter(change => change.folder === folder).length;
        keptUpTo.set(folder, Math.floor(random() * (count + 1)));
      }
    for (const change of this.#nameChanges) {
      const left = keptUpTo.get(change.folder) as number;
      if (left > 0) change.apply(this.#safeNames);
      keptUpTo.set(change.folder, left - 1);
    }
    const reachable = [...this.#safeNames].filter(([name]) => this.#hasFolders(name));
    for (const inode of new Set(reachable.map(([, inode]) => inode)))
      if (inode !== 'folder') settle(inode, random);
    this.#names = new Map(reachable);
    this.#safeNames = new Map(reachable);
    this.#nameChanges = [];
    this.calls = 0;
    this.cutAt = Number.POSITIVE_INFINITY;
  }

  /** The process is killed while the machine runs on: nothing is lost. */
  keepAll(): void {
    this.calls = 0;
    this.cutAt = Number.POSITIVE_INFINITY;
  }

  async open(file: string, mode: string | number): Promise<OpenFile> {
    // A numeric flag opens an existing file.
    const flags = typeof mode === 'number' ? 'r+' : mode;
    const name = path.resolve(file);
    await this.#call(`open ${flags}`, name);
    const there = this.#names.get(name);
    if (there === 'folder') {
      if (flags !== 'r') throw nodeError('EISDIR', `open '${name}'`);
      return this.#openFolder(name);
    }
    if (flags === 'wx' && there !== undefined) throw nodeError('EEXIST', `open '${name}'`);
    if (there === undefined) {
      if (!flags.startsWith('w')) throw nodeError('ENOENT', `open '${name}'`);
      if (this.#names.get(path.dirname(name)) !== 'folder')
        throw nodeError('ENOENT', `open '${name}'`);
      const inode = new Inode();
      this.#rename(path.dirname(name), names => names.set(name, inode));
    } else if (flags === 'w') there.change({ length: 0 });
    return this.#openInode(name, this.#inode('open', name));
  }

  async readFile(file: string): Promise<string> {
    await this.#call('readFile', file);
    return this.#inode('open', file).now.toString();
  }

  async rename(from: string, to: string): Promise<void> {
    await this.#call('rename', from);
    const [source, target] = [path.resolve(from), path.resolve(to)];
    const inode = this.#inode('rename', source);
    this.#rename(path.dirname(target), names => {
      names.delete(source);
      names.set(target, inode);
    });
  }

  async unlink(file: string): Promise<void> {
    await this.#call('unlink', file);
    const name = path.resolve(file);
    this.#inode('unlink', name);
    this.#rename(path.dirname(name), names => names.delete(name));
  }

  async mkdir(folder: string): Promise<void> {
    await this.#call('mkdir', folder);
    const name = path.resolve(folder);
    if (this.#names.has(name)) throw nodeError('EEXIST', `mkdir '${name}'`);
    if (!this.#names.has(path.dirname(name))) throw nodeError('ENOENT', `mkdir '${name}'`);
    this.#rename(path.dirname(name), names => names.set(name, 'folder'));
  }

  async lstat(file: string): Promise<FileStatus> {
    await this.#call('lstat', file);
    const name = path.resolve(file);
    const isFolder = this.#names.get(name) === 'folder';
    const { now, mtimeMs, ino } = isFolder ? new Inode() : this.#inode('lstat', name);
    return { size: now.length, ino, mtimeMs, isFile: () => !isFolder, isDirectory: () => isFolder };
  }

  #openInode(name: string, inode: Inode): OpenFile {
    const makeSafe = async (call: string) => {
      await this.#call(call, name);
      inode.safe = inode.now;
      inode.changes = [];
    };
    return {
      write: async (bytes, offset, length, at) => {
        await this.#call('write', name);
        // A call may write less than requested.
        const bytesWritten = length > 100 ? length - 7 : length;
        inode.change({ at, bytes: Uint8Array.from(bytes.subarray(offset, offset + bytesWritten)) });
        return { bytesWritten };
      },
      truncate: async length => {
        await this.#call('truncate', name);
        inode.change({ length });
      },
      chmod: () => this.#call('chmod', name),
      datasync: () => makeSafe('datasync'),
      sync: () => makeSafe('sync'),
      close: () => this.#call('close', name),
    };
  }

  #openFolder(folder: string): OpenFile {
    const no = () => Promise.reject(nodeError('EISDIR', folder));
    return {
      write: no,
      truncate: no,
      chmod: no,
      datasync: no,
      sync: async () => {
        await this.#call('sync', folder);
        for (const change of this.#nameChanges)
          if (change.folder === folder) change.apply(this.#safeNames);
        this.#nameChanges = this.#nameChanges.filter(change => change.folder !== folder);
      },
      close: () => this.#call('close', folder),
    };
  }

  #rename(folder: string, apply: NameChange['apply']): void {
    apply(this.#names);
    this.#nameChanges.push({ folder, apply });
  }

  #inode(call: string, file: string): Inode {
    const inode = this.#names.get(path.resolve(file));
    if (inode === undefined) throw nodeError('ENOENT', `${call} '${file}'`);
    if (inode === 'folder') throw nodeError('EISDIR', `${call} '${file}'`);
    return inode;
  }

  #hasFolders(name: string): boolean {
    for (let at = path.dirname(name); at !== '/'; at = path.dirname(at))
      if (this.#safeNames.get(at) !== 'folder') return false;
    return true;
  }

  async #call(call: string, file: string): Promise<void> {
    if (this.calls++ >= this.cutAt) throw new PowerCut();
    this.before(call, file);
  }
}

export function nodeError(code: string, what: string): Error {
  return Object.assign(new Error(`${code}: simulated, ${what}`), { code });
}

function applied(bytes: Buffer, change: Change): Buffer {
  if ('length' in change) {
    const cut = Buffer.alloc(change.length);
    bytes.copy(cut);
    return cut;
  }
  const longer = Buffer.alloc(Math.max(bytes.length, change.at + change.bytes.length));
  bytes.copy(longer);
  longer.set(change.bytes, change.at);
  return longer;
}

/** Any subset of the unsynced changes may survive, and a part of a write. */
function settle(inode: Inode, random: () => number): void {
  for (const change of inode.changes) {
    const fate = random();
    if (fate < 0.4) continue;
    if ('bytes' in change && fate < 0.6) {
      const bytes = change.bytes.subarray(0, Math.floor(random() * change.bytes.length));
      inode.safe = applied(inode.safe, { at: change.at, bytes });
    } else inode.safe = applied(inode.safe, change);
  }
  inode.now = inode.safe;
  inode.changes = [];
}
