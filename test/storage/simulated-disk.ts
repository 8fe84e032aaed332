import path from 'node:path';
import type { FileStatus, FileSystem, OpenFile } from '../../src/storage/file-system.js';

/** Thrown by every call after the power of the disk was cut. */
export class PowerCut extends Error {}

type Change = { readonly at: number; readonly bytes: Uint8Array } | { readonly length: number };

/**
 * The names that one call adds to a folder or removes from it. A power cut keeps either all of
 * these changes or none of them.
 */
type NameChange = readonly { readonly name: string; readonly node: Node | undefined }[];

type Node = SimulatedFile | SimulatedFolder;

let inodes = 0;

/** The data of a file: the state at its last sync, and the changes since then. */
export class SimulatedFile {
  safe: Buffer = Buffer.alloc(0);
  changes: Change[] = [];
  now: Buffer = Buffer.alloc(0);
  mtimeMs = Date.now();
  mode = 0o644;
  readonly ino = ++inodes;

  change(change: Change): void {
    this.mtimeMs = Date.now();
    this.changes.push(change);
    this.now = applied(this.now, change);
  }

  sync(): void {
    this.safe = this.now;
    this.changes = [];
  }
}

/** The names in a folder: the state at its last sync, and the changes since then. */
export class SimulatedFolder {
  safe = new Map<string, Node>();
  changes: NameChange[] = [];
  now = new Map<string, Node>();
  mtimeMs = Date.now();
  mode = 0o755;
  readonly ino = ++inodes;

  change(change: NameChange): void {
    this.mtimeMs = Date.now();
    this.changes.push(change);
    rename(this.now, change);
  }

  sync(): void {
    this.safe = new Map(this.now);
    this.changes = [];
  }
}

/** Calls that change the disk or decide what a power cut keeps. */
const CHANGES = /^(open (w|a)|write|truncate|chmod|datasync|sync|rename|unlink|mkdir|rmdir)/;

/**
 * An in-memory file system that distinguishes written data from data that survives a power cut. The
 * content of a file survives after its fdatasync or fsync. A name survives after the fsync of its
 * folder. As on a real disk, some of the unsynced changes may also survive. `random` selects them.
 */
export class SimulatedDisk implements FileSystem {
  #root = new SimulatedFolder();
  /** The number of calls so far. The power fails at the call `cutAt`. */
  calls = 0;
  cutAt = Number.POSITIVE_INFINITY;
  /**
   * Called before each call. If this function throws, the call fails. A write that fails first
   * writes half of its data.
   */
  before: (call: string, file: string) => void = () => {};

  files(): string[] {
    return [...pathsOf(this.#root)].sort();
  }

  read(file: string): Buffer {
    return this.file(file).now;
  }

  put(file: string, bytes: Uint8Array): void {
    const inode = new SimulatedFile();
    inode.safe = Buffer.from(bytes);
    inode.now = inode.safe;
    const names = path.resolve(file).split('/').slice(1);
    let folder = this.#root;
    for (const name of names.slice(0, -1)) {
      const next = folder.now.get(name) ?? new SimulatedFolder();
      for (const entries of [folder.now, folder.safe]) entries.set(name, next);
      folder = next as SimulatedFolder;
    }
    for (const entries of [folder.now, folder.safe]) entries.set(names.at(-1) as string, inode);
  }

  remove(file: string): void {
    const folder = this.#folderOf(file, 'remove');
    for (const entries of [folder.now, folder.safe]) entries.delete(path.basename(file));
  }

  syncAll(): void {
    for (const node of nodesOf(this.#root)) node.sync();
  }

  /**
   * Restores the power a minute later. Synced data is kept. `random`, which returns numbers from 0
   * to 1, selects a part of the other data that is kept, too.
   */
  restart(random: () => number): void {
    settleFolder(this.#root, random, new Set());
    this.keepAll();
  }

  /**
   * Simulates that the process is killed but the machine keeps running, so that no data is lost.
   * The next run starts a minute later.
   */
  keepAll(): void {
    for (const node of nodesOf(this.#root)) node.mtimeMs -= 60_000;
    this.calls = 0;
    this.cutAt = Number.POSITIVE_INFINITY;
  }

  copy(): SimulatedDisk {
    const disk = new SimulatedDisk();
    disk.#root = copyOf(this.#root, new Map()) as SimulatedFolder;
    return disk;
  }

  async open(file: string, mode: string | number, permissions?: number): Promise<OpenFile> {
    // A numeric flag means that the file must exist.
    const flags = typeof mode === 'number' ? 'r+' : mode;
    const name = path.resolve(file);
    await this.call(`open ${flags}`, name);
    const there = this.find(name);
    if (there instanceof SimulatedFolder) {
      if (flags !== 'r') throw nodeError('EISDIR', `open '${name}'`);
      return this.#openFolder(name, there);
    }
    if (flags.startsWith('wx') && there !== undefined) throw nodeError('EEXIST', `open '${name}'`);
    if (there === undefined) {
      if (flags.startsWith('r')) throw nodeError('ENOENT', `open '${name}'`);
      const inode = new SimulatedFile();
      inode.mode = permissions ?? inode.mode;
      this.#folderOf(name, 'open').change([{ name: path.basename(name), node: inode }]);
    } else if (flags === 'w') there.change({ length: 0 });
    return this.#openInode(name, this.file(name, 'open'));
  }

  async readFile(file: string): Promise<string> {
    await this.call('readFile', file);
    return this.file(file, 'open').now.toString();
  }

  async rename(from: string, to: string): Promise<void> {
    await this.call('rename', from);
    const [source, target] = [path.resolve(from), path.resolve(to)];
    if (path.dirname(source) !== path.dirname(target)) throw nodeError('EXDEV', `rename '${from}'`);
    const node = this.find(source);
    const there = this.find(target);
    if (node === undefined) throw nodeError('ENOENT', `rename '${source}'`);
    if (there instanceof SimulatedFolder && there.now.size > 0)
      throw nodeError('ENOTEMPTY', `rename '${source}'`);
    this.#folderOf(target, 'rename').change([
      { name: path.basename(source), node: undefined },
      { name: path.basename(target), node },
    ]);
  }

  async unlink(file: string): Promise<void> {
    await this.call('unlink', file);
    const name = path.resolve(file);
    this.file(name, 'unlink');
    this.#folderOf(name, 'unlink').change([{ name: path.basename(name), node: undefined }]);
  }

  async mkdir(folder: string): Promise<void> {
    await this.call('mkdir', folder);
    const name = path.resolve(folder);
    if (this.find(name) !== undefined) throw nodeError('EEXIST', `mkdir '${name}'`);
    const node = new SimulatedFolder();
    this.#folderOf(name, 'mkdir').change([{ name: path.basename(name), node }]);
  }

  async rmdir(folder: string): Promise<void> {
    await this.call('rmdir', folder);
    const name = path.resolve(folder);
    if (this.folder(name, 'rmdir').now.size > 0) throw nodeError('ENOTEMPTY', `rmdir '${name}'`);
    this.#folderOf(name, 'rmdir').change([{ name: path.basename(name), node: undefined }]);
  }

  async lstat(file: string): Promise<FileStatus & { readonly mode: number; readonly uid: number }> {
    await this.call('lstat', file);
    const node = this.find(path.resolve(file));
    if (node === undefined) throw nodeError('ENOENT', `lstat '${file}'`);
    const isFolder = node instanceof SimulatedFolder;
    const { mtimeMs, ino, mode } = node;
    const size = isFolder ? 0 : node.now.length;
    return {
      size,
      ino,
      mtimeMs,
      mode,
      uid: process.getuid?.() ?? 0,
      isFile: () => !isFolder,
      isDirectory: () => isFolder,
    };
  }

  /** If a write fails, `half` writes half of its data before the error is thrown. */
  async call(call: string, file: string, half = () => {}): Promise<void> {
    this.callNow(call, file, half);
  }

  callNow(call: string, file: string, half = () => {}): void {
    if (this.calls >= this.cutAt) {
      if (this.calls++ === this.cutAt) half();
      throw new PowerCut();
    }
    this.calls++;
    try {
      this.before(call, file);
    } catch (error) {
      half();
      throw error;
    }
  }

  /** Returns the number of bytes written, which can be less than requested. */
  write(name: string, file: SimulatedFile, bytes: Uint8Array, at: number): number {
    const change = (count: number) =>
      file.change({ at, bytes: Uint8Array.from(bytes.subarray(0, count)) });
    this.callNow('write', name, () => change(Math.floor(bytes.length / 2)));
    const count = bytes.length > 100 ? bytes.length - 7 : bytes.length;
    change(count);
    return count;
  }

  find(file: string): Node | undefined {
    let node: Node | undefined = this.#root;
    for (const name of path.resolve(file).split('/').slice(1)) {
      if (name === '') continue;
      node = node instanceof SimulatedFolder ? node.now.get(name) : undefined;
    }
    return node;
  }

  file(file: string, call = 'read'): SimulatedFile {
    const node = this.find(file);
    if (node === undefined) throw nodeError('ENOENT', `${call} '${file}'`);
    if (node instanceof SimulatedFolder) throw nodeError('EISDIR', `${call} '${file}'`);
    return node;
  }

  folder(folder: string, call: string): SimulatedFolder {
    const node = this.find(folder);
    if (node === undefined) throw nodeError('ENOENT', `${call} '${folder}'`);
    if (node instanceof SimulatedFile) throw nodeError('ENOTDIR', `${call} '${folder}'`);
    return node;
  }

  #folderOf(file: string, call: string): SimulatedFolder {
    return this.folder(path.dirname(path.resolve(file)), call);
  }

  #openInode(name: string, inode: SimulatedFile): OpenFile {
    const makeSafe = async (call: string) => {
      // If a sync fails, the disk may have dropped the data. A later sync does not bring it back.
      await this.call(call, name, () => {
        if (this.calls <= this.cutAt) inode.changes = [];
      });
      inode.sync();
    };
    return {
      write: async (bytes, offset, length, at) => ({
        bytesWritten: this.write(name, inode, bytes.subarray(offset, offset + length), at),
      }),
      truncate: async length => {
        await this.call('truncate', name);
        inode.change({ length });
      },
      chmod: async mode => {
        await this.call('chmod', name);
        inode.mode = mode;
      },
      datasync: () => makeSafe('datasync'),
      sync: () => makeSafe('sync'),
      close: () => this.call('close', name),
    };
  }

  #openFolder(name: string, folder: SimulatedFolder): OpenFile {
    const no = () => Promise.reject(nodeError('EISDIR', name));
    return {
      write: no,
      truncate: no,
      chmod: no,
      datasync: no,
      sync: async () => {
        await this.call('sync', name);
        folder.sync();
      },
      close: () => this.call('close', name),
    };
  }
}

export function isChange(call: string): boolean {
  return CHANGES.test(call);
}

export function nodeError(code: string, what: string): Error {
  const syscall = what.split(' ')[0];
  return Object.assign(new Error(`${code}: simulated, ${what}`), { code, syscall });
}

export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

function* pathsOf(folder: SimulatedFolder, above = ''): Generator<string> {
  for (const [name, node] of folder.now)
    if (node instanceof SimulatedFile) yield `${above}/${name}`;
    else yield* pathsOf(node, `${above}/${name}`);
}

function* nodesOf(folder: SimulatedFolder): Generator<Node> {
  yield folder;
  for (const node of folder.now.values())
    if (node instanceof SimulatedFile) yield node;
    else yield* nodesOf(node);
}

function rename(names: Map<string, Node>, change: NameChange): void {
  for (const { name, node } of change)
    if (node === undefined) names.delete(name);
    else names.set(name, node);
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

/**
 * Decides which changes of names survive: always the oldest ones, as with the journal of a file
 * system.
 */
function settleFolder(folder: SimulatedFolder, random: () => number, done: Set<Node>): void {
  const kept = Math.floor(random() * (folder.changes.length + 1));
  for (const change of folder.changes.slice(0, kept)) rename(folder.safe, change);
  folder.now = new Map(folder.safe);
  folder.changes = [];
  for (const node of folder.now.values()) {
    if (done.has(node)) continue;
    done.add(node);
    if (node instanceof SimulatedFile) settleFile(node, random);
    else settleFolder(node, random, done);
  }
}

/**
 * Decides which changes of a file survive. Any subset of the unsynced changes can survive, even a
 * part of a write.
 */
function settleFile(inode: SimulatedFile, random: () => number): void {
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

function copyOf(node: Node, copies: Map<Node, Node>): Node {
  const known = copies.get(node);
  if (known !== undefined) return known;
  const { ino, mtimeMs, mode } = node;
  if (node instanceof SimulatedFile) {
    const { safe, now, changes } = node;
    const copy = Object.assign(new SimulatedFile(), {
      ino,
      mtimeMs,
      mode,
      safe,
      now,
      changes: [...changes],
    });
    copies.set(node, copy);
    return copy;
  }
  const copy = Object.assign(new SimulatedFolder(), { ino, mtimeMs, mode });
  copies.set(node, copy);
  const names = (map: Map<string, Node>) =>
    new Map([...map].map(([name, one]) => [name, copyOf(one, copies)]));
  copy.now = names(node.now);
  copy.safe = names(node.safe);
  copy.changes = node.changes.map(change =>
    change.map(({ name, node: one }) => ({ name, node: one && copyOf(one, copies) })),
  );
  return copy;
}
