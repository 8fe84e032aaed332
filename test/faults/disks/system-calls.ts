import { spawnSync } from 'node:child_process';
import { outputOf, spawn } from '../../child-processes.js';

export interface SystemCall {
  readonly kind: 'create' | 'remove' | 'folder' | 'write' | 'truncate' | 'sync' | 'line';
  readonly path: string;
  /** The name under which the file was created, even if the call uses another link to the file. */
  readonly file: string;
  readonly at: number;
  readonly bytes: Buffer;
  readonly length: number;
  /** Whether the write returns only when it is on disk (`O_DSYNC`). */
  readonly isSynced: boolean;
  readonly text: string;
  /** The start and the end of the call, as positions in the order of all calls. */
  readonly began: number;
  readonly ended: number;
}

const CHANGES =
  'openat,open,creat,close,lseek,write,writev,pwrite64,pwritev,pwritev2,ftruncate,truncate,fallocate,copy_file_range,sendfile,dup,dup2,dup3,fsync,fdatasync,sync_file_range,msync,mmap,rename,renameat,renameat2,link,linkat,unlink,unlinkat,mkdir,mkdirat';
/** System calls that the simulation of power cuts does not support. */
const UNKNOWN =
  /^(pwritev2?|truncate|fallocate|copy_file_range|sendfile|dup[23]?|sync_file_range|msync|rename)/;

export function straceArguments(output: string): readonly string[] {
  return ['-f', '--seccomp-bpf', '-y', '-xx', '-s', '16777216', '-e', CHANGES, '-o', output];
}

export function withoutStrace(): string | undefined {
  if (process.platform !== 'linux') return 'needs strace, so Linux';
  const { status, error, stderr } = spawnSync(
    'strace',
    [...straceArguments('/dev/null'), process.execPath, '--version'],
    { encoding: 'utf8' },
  );
  if (error !== undefined) return 'needs strace: `apt-get install strace`';
  return status === 0 ? undefined : `needs strace, which fails: ${stderr.split('\n')[0]}`;
}

export function systemCalls(trace: string, folder: string): readonly SystemCall[] {
  const calls: SystemCall[] = [];
  const files = new Map<number, { position: number; isSynced: boolean }>();
  const named = new Map<string, string>();
  const begun = new Map<string, { readonly head: string; readonly began: number }>();
  for (const [number, text] of trace.split('\n').entries()) {
    const [, thread = '', rest = ''] = /^(\d+) +(.*)$/.exec(text) ?? [];
    if (rest.endsWith('<unfinished ...>')) {
      begun.set(thread, { head: rest.slice(0, -'<unfinished ...>'.length), began: number });
      continue;
    }
    const [, tail] = /^<\.\.\. \w+ resumed>(.*)$/.exec(rest) ?? [];
    const { head, began } = (tail !== undefined && begun.get(thread)) || {
      head: '',
      began: number,
    };
    // A call that fits on one line ends before the next line starts.
    read(`${head}${tail ?? rest}`, began, number + 0.5);
  }
  return calls.toSorted((one, other) => one.began - other.began);

  function read(call: string, began: number, ended: number): void {
    const [, name = '', given = '', result = ''] =
      /^(\w+)\((.*)\) += (-?\d+|0x[0-9a-f]+|\?)/s.exec(call) ?? [];
    if (name === '' || result.startsWith('-') || result === '?') return;
    const strings = [...given.matchAll(/"((?:\\x[0-9a-f]{2})*)"(\.\.\.)?/g)].map(
      ([, hex = '', cut]) => {
        if (cut !== undefined) throw new Error(`The trace has lost bytes of ${name}`);
        return bytesOf(hex);
      },
    );
    const [, opened] = /<((?:\\x[0-9a-f]{2})+)>\)?$/.exec(call) ?? [];
    const [, fdText, fdPath = ''] = /^(\d+)(?:<((?:\\x[0-9a-f]{2})*)>)?/.exec(given) ?? [];
    const fd = Number(fdText);
    const isOpen = /^(open|openat|creat)$/.test(name);
    const isNamed = isOpen || /^(mkdir|rename|link|unlink|truncate)/.test(name);
    const path = isNamed
      ? opened === undefined
        ? String(strings[0])
        : bytesOf(opened).toString()
      : name === 'mmap'
        ? bytesOf(/<((?:\\x[0-9a-f]{2})+)>/.exec(given)?.[1] ?? '').toString()
        : bytesOf(fdPath).toString();
    const none = {
      path,
      file: named.get(path) ?? path,
      at: 0,
      bytes: Buffer.alloc(0),
      length: 0,
      isSynced: false,
      text: '',
    };
    const add = (kind: SystemCall['kind'], more: Partial<SystemCall> = {}) =>
      calls.push({ ...none, kind, began, ended, ...more });
    const bytes = Buffer.concat(isNamed ? [] : strings);
    if (name === 'write' && fd === 1) add('line', { text: bytes.toString() });
    if (path !== folder && !path.startsWith(`${folder}/`)) return;
    if (UNKNOWN.test(name)) throw new Error(`${name} of ${path} is not simulated`);
    const file = files.get(fd);
    if (isOpen) {
      files.set(Number(result), { position: 0, isSynced: /O_D?SYNC/.test(given) });
      if (/O_CREAT/.test(given) && !named.has(path)) {
        named.set(path, path);
        add('create');
      }
      if (/O_TRUNC/.test(given)) add('truncate');
    } else if (name.startsWith('link')) {
      const to = String(strings[1]);
      named.set(to, none.file);
      add('create', { path: to });
    } else if (name.startsWith('unlink')) {
      named.delete(path);
      add('remove');
    } else if (name === 'close') files.delete(fd);
    else if (name.startsWith('mkdir')) add('folder');
    else if (name === 'mmap') {
      if (/PROT_WRITE/.test(given) && /MAP_SHARED/.test(given) && !path.endsWith('/lock.mdb'))
        throw new Error(`${path} is mapped for writing: what is written to it is not in the trace`);
    } else if (name === 'ftruncate') add('truncate', { length: lastNumber(given) });
    else if (/^f(data)?sync$/.test(name)) add('sync');
    else if (file === undefined) throw new Error(`${name} of ${path}, which was not opened`);
    else if (name === 'lseek') file.position = Number(result);
    else if (/write/.test(name)) {
      if (bytes.length !== Number(result)) throw new Error(`${name} wrote ${result} bytes`);
      const at = name === 'pwrite64' ? lastNumber(given) : file.position;
      add('write', { at, bytes, isSynced: file.isSynced });
      if (name !== 'pwrite64') file.position += bytes.length;
    }
  }
}

/**
 * Returns the last argument of a call. If another thread interrupted the call, its text ends with a
 * space.
 */
function lastNumber(given: string): number {
  const [, digits] = /(\d+) *$/.exec(given) ?? [];
  if (digits === undefined) throw new Error(`The trace has lost an argument: ${given.slice(-100)}`);
  return Number(digits);
}

function bytesOf(hex: string): Buffer {
  return Buffer.from(hex.replaceAll('\\x', ''), 'hex');
}

/**
 * @throws if the process fails. The error contains the last printed line, which says where it
 * failed.
 */
export async function stdoutOf(command: string, given: readonly string[]): Promise<string> {
  const child = spawn(command, given, {
    stdio: ['ignore', 'pipe', 'pipe'],
    // strace does not see calls that go through io_uring.
    env: { ...process.env, UV_USE_IO_URING: '0' },
  });
  const { code, signal, stdout, stderr } = await outputOf(child);
  if (code === 0) return stdout;
  const reason = signal ?? /^\w*Error: .*$/m.exec(stderr)?.[0] ?? stderr.slice(0, 500);
  throw new Error(`${stdout.trimEnd().split('\n').at(-1) || command}: ${reason}`);
}
