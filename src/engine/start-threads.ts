import { availableParallelism } from 'node:os';
import { inflateWhole } from '../gzip/inflate-whole.js';
import { type Decoding, decodeFile, type Fields, type Inflate } from './decode-file.js';
import { type DecodedFile, FileHere } from './decoded-file.js';
import type { RowEncoding } from './encode-rows.js';
import type { Decoder, StoredFile } from './file-source.js';
import type { Steps } from './step.js';
import { scriptOfThreads, type Threads, type ThreadsSetup } from './threads.js';

const MAX_THREADS = 16;
/** For a smaller input, starting threads and optimising their code takes longer than they save. */
const MIN_INPUT_BYTES = 32 * 1024 * 1024;
/** Without threads: files that are decoded before they are read, and the maximum size of their contents. */
const AHEAD = 2;
const MAX_CONTENT_BYTES = 16 * 1024 * 1024;

export interface EngineOptions {
  /** Maximum number of threads; they then decode any input. Default: one a core, for large inputs. */
  readonly workers?: number | undefined;
  /** The script of the threads, for tests. */
  readonly script?: URL | undefined;
}

/** What reads the rows of a plan, besides its steps. */
export interface PlanReader {
  /** As the option of the engine. Of several readers, the lowest counts. */
  readonly workers?: number | undefined;
  /** Whether it only reads posts on the main thread. No threads start where all readers do. */
  readonly isHere?: boolean;
  /** The fields that it needs. */
  readonly fields?: Partial<Fields> | undefined;
  /** How it encodes the rows, where it does. */
  readonly encoding?: RowEncoding | undefined;
}

/** What a run needs of the files of its plan. */
interface Wanted {
  readonly decoding: Decoding;
  readonly options: EngineOptions;
  readonly steps: Steps;
  readonly readers: readonly PlanReader[];
  /** The threads of the engine, made where there are none yet. */
  threads(setup: Omit<ThreadsSetup, 'encodings'>): Threads;
}

/**
 * What decodes the files of a run: threads from the moment on when enough input is expected, the main thread before
 * that, or where `workers` is 0, all readers want posts on the main thread, or the script of the threads is missing.
 */
export function decoderOf({
  decoding,
  options,
  steps,
  readers,
  threads: threadsOf,
}: Wanted): Decoder {
  const fields = unitedFields([...steps, ...readers]);
  const { script = scriptOfThreads() } = options;
  const isHere = readers.length > 0 && readers.every(reader => reader.isHere === true);
  const wanted = [options, ...readers].flatMap(({ workers }) => workers ?? []);
  const workers = isHere ? 0 : wanted.length === 0 ? undefined : Math.min(...wanted);
  const size = workers ?? Math.min(availableParallelism(), MAX_THREADS);
  const minBytes = workers === undefined ? MIN_INPUT_BYTES : 0;
  const inThreads = (threads: Threads): Decoder => ({
    ahead: threads.ahead,
    inThreads: true,
    expect: ({ count }) => threads.start(count),
    decode: file => threads.decode(file),
  });
  let expectedBytes = 0;
  let decoder: Decoder = {
    ahead: AHEAD,
    inThreads: false,
    expect: ({ count, bytes }) => {
      expectedBytes += bytes;
      if (script === undefined || size === 0 || expectedBytes < minBytes || count === 0) return;
      const threads = threadsOf({ script, size, decoding, fields });
      threads.start(count);
      decoder = inThreads(threads);
    },
    decode: file => decodeHere(file, decoding, fields),
  };
  return {
    get ahead() {
      return decoder.ahead;
    },
    get inThreads() {
      return decoder.inThreads;
    },
    expect: files => decoder.expect(files),
    decode: file => decoder.decode(file),
  };
}

async function decodeHere(
  { file, origin }: StoredFile,
  decoding: Decoding,
  fields: Fields,
): Promise<DecodedFile | undefined> {
  const bytes = 'path' in file ? await file.read() : file.bytes;
  const decoded = await decodeFile(bytes, decoding, fields, inflateHere);
  return decoded && new FileHere(origin, decoded);
}

const inflateHere: Inflate = (file, maxBytes) =>
  inflateWhole(file, Math.min(maxBytes, MAX_CONTENT_BYTES));

function unitedFields(
  readers: readonly { readonly fields?: Partial<Fields> | undefined }[],
): Fields {
  const all = readers.map(({ fields }) => fields ?? {});
  return {
    id: all.some(({ id }) => id === true),
    tags: all.some(({ tags }) => tags === true),
    shownIds: all.some(({ shownIds }) => shownIds === true),
    keys: [...new Set(all.flatMap(({ keys }) => keys ?? []))],
    rules: all.find(({ rules }) => rules !== undefined)?.rules,
  };
}
