import { checkOptions, func, type OptionTable } from '../base/check.js';
import { DataError, errorWithOrigin } from '../base/errors.js';
import type { RecordKind } from '../files/file-records.js';
import { stageFlow } from '../files/plan.js';
import type { Batches, Operator } from '../flow/flow.js';
import { internalsOf } from '../flow/internals.js';
import type { Progress } from '../flow/progress.js';
import { reportingDamaged } from '../flow/report-damaged.js';
import { bytesOf, wrongItem } from '../flow/wrong-item.js';
import { extentOfObject } from '../json/check-object.js';
import { excerpt } from '../json/excerpt.js';
import { LazyObject } from '../json/lazy-object.js';
import type { JsonRecord, OnDamaged } from '../json/records.js';
import { Activity } from '../post/activity.js';
import { leadingIdStart, leadingTagIdStart } from '../post/bytes/ids.js';
import { type InStreamMessage, parseInStreamMessage } from '../post/in-stream-message.js';

/** Options of `activities`: what to do with messages of the service and with damaged records. */
export interface ActivitiesOptions {
  /**
   * Called with each message of the service, before the activities of the same batch are delivered. If it
   * returns a promise, the flow waits for it. If it throws or the promise rejects, the flow ends with that
   * error.
   */
  readonly onMessage?: ((message: InStreamMessage) => unknown) | undefined;
  /**
   * Called with each record that is not JSON or has no id. If it returns, the record is skipped. By default,
   * `activities` does not read ids. With this option, or with the option `damaged` of the sink, it reads the
   * id of each record.
   */
  readonly onDamaged?: OnDamaged | undefined;
}

const OPTIONS = {
  onMessage: func('called with each message'),
  onDamaged: func('called with each damaged record'),
} satisfies OptionTable<ActivitiesOptions>;

/**
 * Distinguishes posts from messages of the service among the records of a file. `mark` returns -1 for a
 * message. For a post that begins with its id, `mark` returns the offset of the first digit of the id. For
 * any other post, it returns 0.
 */
export const POSTS: RecordKind<Activity> = {
  name: 'posts',
  mark: (content, start, end) => {
    let digits = leadingIdStart(content, start);
    if (digits === -1) digits = leadingTagIdStart(content, start);
    // A post may start with its id, but a message of the service never starts with an id.
    if (digits !== -1) return digits - start;
    return parseInStreamMessage(content.subarray(start, end)) === undefined ? 0 : -1;
  },
  item: record => new Activity(record),
  staying: [new Activity(Buffer.from('{}')), LazyObject.of(Buffer.from('{}'))],
};

/**
 * Converts records to activities, which are views of the same bytes. Skips messages of the service: the
 * `info`, `error` and `warn` messages that streams and job files contain, and the notices of streams, such as
 * `limit` and `delete`. Progress counts them as dropped by `messages`.
 *
 * Each record must be one JSON object, as `jsonLines` and `jsonElements` return them. Other bytes, such as
 * blocks of a file, are refused. Activities are not parsed here. A damaged activity throws a `DataError` when
 * a property that it lacks is read.
 *
 * @throws OptionError Immediately, if an option is invalid.
 * @throws DataError From the flow, for an item that is not one JSON object.
 *
 * @example
 * pipeline(localFiles('archive'), gunzip(), jsonLines(), activities(), files({ path: 'all.jsonl' }));
 */
export function activities(options: ActivitiesOptions = {}): Operator<JsonRecord, Activity> {
  const { onMessage, onDamaged } = checkOptions('activities', OPTIONS, options);
  const isDefault = onMessage === undefined && onDamaged === undefined;
  return input =>
    stageFlow(
      input,
      (batches, run) =>
        reportingDamaged(run, onDamaged, report =>
          activitiesOf(
            batches,
            { onMessage, onDamaged: report },
            { isCut: internalsOf(input).isOfRecords === true, progress: run.progress },
          ),
        ),
      // A plan may run in other threads. The two callbacks must be called for each record in order, on this
      // thread, so a flow with a callback has no plan.
      (plan, stage) => (isDefault ? plan.read(POSTS, stage) : undefined),
    );
}

async function* activitiesOf(
  input: Batches<JsonRecord>,
  { onMessage, onDamaged }: ActivitiesOptions,
  { isCut, progress }: { readonly isCut: boolean; readonly progress: Progress | undefined },
): Batches<Activity> {
  let number = 0;
  for await (const batch of input) {
    const items: Activity[] = [];
    let damaged = 0;
    try {
      for (const item of batch.items) {
        const record = bytesOf('activities', item, batch.origin);
        number++;
        let error = isCut ? undefined : notOneObject(record, batch.origin);
        if (error !== undefined && onDamaged === undefined) throw error;
        error ??= onDamaged === undefined ? undefined : damageOf(record);
        if (error !== undefined) {
          damaged++;
          const { origin } = batch;
          await onDamaged?.({ raw: Buffer.from(record), origin, record: number }, error);
          continue;
        }
        const message = parseInStreamMessage(record);
        if (message === undefined) items.push(new Activity(record));
        else await onMessage?.(message);
      }
    } catch (error) {
      if (items.length > 0) yield { items, origin: batch.origin };
      throw errorWithOrigin(batch.origin, error);
    }
    progress?.drop('messages', batch.items.length - items.length - damaged);
    const { cursor, origin } = batch;
    if (cursor !== undefined) number = 0;
    yield { items, cursor, origin };
  }
}

/**
 * Returns an error if a record is damaged, that is, if it is not a JSON object.
 *
 * @throws DataError if the bytes contain several records. This is a mistake in the pipeline: a stage such as
 *   `jsonLines` is missing.
 */
function notOneObject(record: Buffer, origin: string | undefined): DataError | undefined {
  const extent = extentOfObject(record);
  if (extent === 'one') return undefined;
  if (extent === 'more')
    throw wrongItem(record, {
      need: 'activities() reads records of one JSON object',
      reads: 'records',
      origin,
    });
  return new DataError(`Not one JSON object: ${excerpt(record)}`, {
    position: { origin },
    advice: 'activities() reads records: put jsonLines() before it, which cuts bytes into records',
  });
}

function damageOf(record: Uint8Array): DataError | undefined {
  try {
    if (parseInStreamMessage(record) === undefined) void new Activity(record).id;
    return undefined;
  } catch (error) {
    if (error instanceof DataError) return error;
    throw error;
  }
}
