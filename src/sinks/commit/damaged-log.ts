import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { optionError } from '../../base/check.js';
import { DataError, MillraceError } from '../../base/errors.js';
import { redact } from '../../base/secret.js';
import type { Cursor, DamagedRecords, DamagedStage } from '../../flow/flow.js';
import { internalsOf } from '../../flow/internals.js';
import { isTagged, LINE_FEED, lineOf } from '../../flow/line.js';
import type { DamagedRecord } from '../../json/records.js';
import { Activity } from '../../post/activity.js';
import { isComplianceEvent } from '../../post/compliance-event.js';
import type { FileSystem } from '../../storage/file-system.js';
import { storageError } from '../../storage/storage-error.js';
import { linesFormat } from '../write/format.js';
import { PART } from '../write/output-names.js';
import { Outputs, type SharedOptions } from '../write/outputs.js';
import { type CommittedFile, DAMAGED } from './checkpoint-text.js';

interface Place {
  readonly path: string;
  readonly byte: number;
}

const FLUSH_AFTER_MS = 1_000;

/**
 * Writes damaged records to a file, one per line. The file is committed together with the output.
 *
 * Some stages read ahead, and report records that come after the cursor of a commit. These records are already
 * in the log, and a run that resumes from that cursor reports them again. To skip such repeated records, the
 * log compares them with its own content from the byte offset `settled` on. The checkpoint stores this offset.
 */
export class DamagedLog implements DamagedRecords {
  readonly outputs: Outputs;
  readonly branch = DAMAGED;
  /** The log has no commit interval. It is committed whenever the output is committed. */
  readonly everyMs = undefined;
  readonly #fs: FileSystem;
  readonly #path: string;
  readonly #stages: Stage[] = [];
  /** For each cursor, how many records each stage had reported before that cursor. */
  readonly #counts = new WeakMap<object, (readonly [stage: Stage, count: number])[]>();
  /** The records of an earlier run that may be reported again, by their keys. */
  readonly #kept = new Map<string, Place[]>();
  readonly #reported = new Reported();
  #flushing: NodeJS.Timeout | undefined;
  /**
   * For each log file, the offset in bytes of the first record that may be reported again, as of the start of
   * the last commit. Files without such a record are absent.
   */
  settled: ReadonlyMap<string, number> = new Map();

  constructor(fs: FileSystem, path: string, shared: SharedOptions) {
    this.#fs = fs;
    this.#path = path;
    const files = { compression: undefined, maxOpen: 1, maxOutputs: Number.POSITIVE_INFINITY };
    this.outputs = new Outputs(
      fs,
      // Damaged records do not count as written items, so there is no progress to update.
      { ...shared, ...files, maxBytes: undefined, only: path, progress: undefined },
      linesFormat({ encode: (line: Uint8Array) => line }),
    );
  }

  /**
   * Continues the log files of an earlier run. Files in `named` have their final names; all other files are
   * `.part` files.
   */
  async resume(files: readonly CommittedFile[], named: ReadonlySet<CommittedFile>): Promise<void> {
    this.outputs.resume(files, named);
    for (const file of files) {
      const { path, bytes, settled = bytes } = file;
      if (settled === bytes || named.has(file)) continue;
      const part = path + PART;
      const content = await this.#fs.readFile(part, 'utf8').catch(error => {
        throw storageError('read', part, error);
      });
      let byte = settled;
      for (const line of linesOf(Buffer.from(content).subarray(settled, bytes))) {
        const key = keyOf(JSON.parse(line.toString()));
        this.#kept.set(key, [...(this.#kept.get(key) ?? []), { path, byte }]);
        byte += line.length + 1;
      }
    }
  }

  stage(): DamagedStage {
    return this.#openStage(undefined);
  }

  /**
   * Returns the object through which one branch of `tee` reports records. If several branches report the same
   * record, it is logged once.
   */
  ofBranch(): DamagedRecords {
    const branch = {};
    return { stage: () => this.#openStage(branch) };
  }

  /**
   * Logs an item that a sink cannot write. If several branches of `tee` cannot write the same item, it is
   * logged once.
   *
   * @param by Identifies the branch.
   * @throws The given error, if it does not concern the item or if the item has no bytes to log.
   */
  async keepItem(
    item: unknown,
    error: unknown,
    { origin, by }: { readonly origin: string | undefined; readonly by: object },
  ): Promise<void> {
    const line = damagedLine(recordOfItem(item, error, origin), error);
    const key = keyOf(line);
    if (this.#reported.placeOf(key, by) !== undefined) return;
    this.#reported.add(key, this.#append(line));
    await this.#relieve();
  }

  /**
   * Computes `settled` for a commit that begins: the offsets from which records may be reported again.
   *
   * @param cursor The cursor that is committed; absent if all items were read.
   */
  reached(cursor?: Cursor): void {
    const settled = new Map<string, number>();
    if (cursor === undefined) for (const stage of this.#stages) stage.settle(stage.count);
    const isSettled = () => this.#stages.every(({ first }) => first === undefined);
    if (!isSettled())
      for (const object of objectsIn(cursor))
        for (const [stage, count] of this.#counts.get(object) ?? []) stage.settle(count);
    // Records that an earlier run has reported may be reported again in this run. Until then, they are not
    // settled.
    const rest = cursor === undefined ? [] : [...this.#kept.values()].map(([place]) => place);
    for (const place of [...rest, ...this.#stages.map(({ first }) => first)])
      if (place !== undefined && place.byte < (settled.get(place.path) ?? Number.POSITIVE_INFINITY))
        settled.set(place.path, place.byte);
    this.settled = settled;
  }

  async close(): Promise<void> {
    clearTimeout(this.#flushing);
    await this.outputs.close();
  }

  /** @param branch Identifies the branch of `tee` that contains the stage, if any. */
  #openStage(branch: object | undefined): DamagedStage {
    const stage = new Stage();
    this.#stages.push(stage);
    return {
      keep: async (record, error) => {
        const line = damagedLine(record, error);
        const key = keyOf(line);
        const known = branch && this.#reported.placeOf(key, branch);
        if (known !== undefined) {
          stage.add(known);
          return;
        }
        const again = this.#kept.get(key)?.shift();
        const place = again ?? this.#append(line);
        stage.add(place);
        if (branch !== undefined) this.#reported.add(key, place);
        if (again === undefined) await this.#relieve();
      },
      reached: cursor => {
        if (stage.count === 0) return;
        const counts = this.#counts.get(cursor);
        if (counts === undefined) this.#counts.set(cursor, [[stage, stage.count]]);
        else counts.push([stage, stage.count]);
      },
    };
  }

  #append(line: DamagedLine): Place {
    this.outputs.throwFailure();
    const output = this.outputs.open(this.#path);
    const { path, size: byte } = output.fileFor(0);
    output.add(Buffer.from(JSON.stringify(line)));
    this.#flushing ??= setTimeout(() => {
      this.#flushing = undefined;
      this.outputs.flush();
    }, FLUSH_AFTER_MS).unref();
    return { path, byte };
  }

  async #relieve(): Promise<void> {
    await this.outputs.begin();
    if (this.outputs.full) await this.outputs.relieve();
  }
}

/** @throws OptionError if the option `damaged`, the path of a file, ends in `.part`, `.gz` or `.zst`. */
export function checkDamaged(call: string, damaged: string): void {
  const refused = (reason: string) =>
    optionError(call, 'damaged', `${reason}, got ${JSON.stringify(damaged)}`);
  if (damaged.toLowerCase().endsWith(PART)) throw refused('must not end in .part');
  if (/\.(gz|zst)$/i.test(damaged))
    throw refused('must not end in .gz or .zst: the file is not compressed');
}

/**
 * The maximum number of records to remember, so that a record that several branches report is logged once. If
 * one branch reports more records than this ahead of another branch, a record may be logged twice.
 */
const MAX_REPORTED = 50_000;

interface ReportedRecord {
  readonly places: Place[];
  /** For each branch, how often the branch has reported the record. */
  readonly counts: Map<object, number>;
}

/**
 * Remembers which records the branches have reported, so that a record is logged only once. All branches
 * report the same records. Equal records may occur several times, so the second report of a record by one
 * branch means its second occurrence.
 */
class Reported {
  #records = new Map<string, ReportedRecord>();
  /**
   * The previous map of records. It is kept until `#records` is full again, so that recent records are still
   * found.
   */
  #before = new Map<string, ReportedRecord>();

  /**
   * Returns the position of a record that another branch has already reported; `undefined` if this is the
   * first report. Also counts the record as reported by this branch.
   */
  placeOf(key: string, branch: object): Place | undefined {
    const record = this.#recordOf(key);
    const count = record.counts.get(branch) ?? 0;
    record.counts.set(branch, count + 1);
    return record.places[count];
  }

  add(key: string, place: Place): void {
    this.#recordOf(key).places.push(place);
  }

  #recordOf(key: string): ReportedRecord {
    let record = this.#records.get(key);
    if (record === undefined) {
      if (this.#records.size === MAX_REPORTED) {
        this.#before = this.#records;
        this.#records = new Map();
      }
      record = this.#before.get(key) ?? { places: [], counts: new Map() };
      this.#records.set(key, record);
    }
    return record;
  }
}

class Stage {
  count = 0;
  #settled = 0;
  /**
   * The positions of the records that come after the cursor of the last commit, in the order in which they
   * were reported.
   */
  #places: Place[] = [];

  add(place: Place): void {
    this.count++;
    this.#places.push(place);
  }

  /** Marks the first `count` records as settled: they come before the committed cursor. */
  settle(count: number): void {
    if (count <= this.#settled) return;
    this.#places = this.#places.slice(count - this.#settled);
    this.#settled = count;
  }

  get first(): Place | undefined {
    return this.#places[0];
  }
}

interface DamagedLine extends Omit<DamagedRecord, 'raw'> {
  readonly error: { readonly name: string; readonly code?: string; readonly message: string };
  readonly text?: string;
  readonly base64?: string;
}

function damagedLine({ raw, origin, ...place }: DamagedRecord, error: unknown): DamagedLine {
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  return {
    ...(origin !== undefined && { origin: redact(origin) }),
    ...place,
    error: {
      name,
      ...(error instanceof MillraceError && { code: error.code }),
      message: redact(message),
    },
    // The record is stored as a string instead of as JSON, so that parsing the line never changes ids that
    // are numbers.
    ...(isUtf8(raw) ? { text: raw.toString() } : { base64: raw.toString('base64') }),
  };
}

/**
 * Returns a key by which a later run recognises a record. The key is a hash of the record's bytes. If the
 * record has a `byteOffset` or a number (`record`), the hash also covers its position, because a later run
 * finds it at the same position.
 */
function keyOf({ origin, byteOffset, record, request, text, base64 }: DamagedLine): string {
  const hasPlace = byteOffset !== undefined || record !== undefined;
  // Page tokens are not part of the key, because they may differ between runs.
  const page = request && { ...request, next: undefined };
  const place = hasPlace ? [origin, byteOffset, record, page] : null;
  return createHash('sha256')
    .update(JSON.stringify([place, text ?? null, base64 ?? null]))
    .digest('base64');
}

/**
 * Returns the record for an item that a sink cannot write.
 *
 * @throws The given error, if it does not concern the item or if the item has no bytes to log.
 */
export function recordOfItem(
  item: unknown,
  error: unknown,
  origin: string | undefined,
): DamagedRecord {
  const isOfRun = error instanceof MillraceError && !(error instanceof DataError);
  if (isOfRun || internalsOf(error).isAboutStages) throw error;
  try {
    return { raw: Buffer.from(bytesOfItem(item, origin)), origin };
  } catch {
    throw error;
  }
}

function bytesOfItem(item: unknown, origin: string | undefined): Uint8Array {
  const post = isTagged(item) ? item.activity : item;
  if (post instanceof Activity || isComplianceEvent(post)) return post.raw;
  return lineOf(post, undefined, origin);
}

/** Yields a cursor and all cursors that it wraps. */
function* objectsIn(value: unknown): Generator<object, void, undefined> {
  if (typeof value !== 'object' || value === null) return;
  yield value;
  if ('toJSON' in value) return;
  for (const inner of Object.values(value)) yield* objectsIn(inner);
}

function* linesOf(bytes: Buffer): Generator<Buffer, void, undefined> {
  let start = 0;
  for (let end = bytes.indexOf(LINE_FEED); end !== -1; end = bytes.indexOf(LINE_FEED, start)) {
    yield bytes.subarray(start, end);
    start = end + 1;
  }
}
