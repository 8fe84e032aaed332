import type { Bytes, JsonRecord } from '../json/records.js';
import type { Activity } from '../post/activity.js';
import type { ComplianceEvent } from '../post/compliance-event.js';

/**
 * What the compiler shows as the type of a parameter, if a stage does not read the items before it: one line that says
 * what to insert. `wrongItem` says the same at run time.
 */
export type Misfit<Given, Wanted> = [Given] extends [PromiseLike<unknown>]
  ? 'It gets promises: put mapAsync() in the place of the map() before it'
  : [Wanted] extends [JsonRecord]
    ? Sentence<'JSON records', Given, RecordAdvice<Given>>
    : [Wanted] extends [Bytes]
      ? Sentence<'bytes', Given, BytesAdvice<Given>>
      : [Wanted] extends [PostLike]
        ? Sentence<'posts', Given, PostAdvice<Given, Wanted>>
        : [Wanted] extends [{ readonly timePeriod: string }]
          ? Sentence<'buckets of counts', Given, 'take them from counts()'>
          : [Wanted] extends [ComplianceEvent]
            ? Sentence<'compliance events', Given, EventAdvice<Given>>
            : StageThatReads<Given>;

type PostLike = Activity | { readonly activity: Activity };

type Sentence<
  Reads extends string,
  Given,
  Advice extends string,
> = `It reads ${Reads}, but gets ${ItemName<Given>}: ${Advice}`;

/** As messages name items; a union has the first name that fits one of its members. */
type ItemName<Given> = [Given] extends [JsonRecord]
  ? 'JSON records'
  : [Given] extends [Uint8Array]
    ? 'bytes'
    : [Given] extends [string]
      ? 'strings'
      : [Given] extends [Activity]
        ? 'posts'
        : [Given] extends [readonly unknown[]]
          ? 'arrays'
          : [Given] extends [PromiseLike<unknown>]
            ? 'promises'
            : [Given] extends [{ readonly activity: Activity; readonly tag: string }]
              ? 'posts with a tag'
              : [Given] extends [{ readonly activity: Activity }]
                ? 'objects with a post'
                : [Given] extends [{ readonly timePeriod: string }]
                  ? 'buckets of counts'
                  : [Given] extends [ComplianceEvent]
                    ? 'compliance events'
                    : 'other items';

type RecordAdvice<Given> = [Given] extends [Uint8Array]
  ? 'put jsonLines() before it'
  : [Given] extends [string]
    ? 'read bytes, not text, and put jsonLines() before it'
    : 'put it after jsonLines(), or leave it out';

type BytesAdvice<Given> = [Given] extends [string]
  ? 'set no encoding'
  : [Given] extends [JsonRecord]
    ? 'put it before jsonLines(), or leave it out'
    : 'put it before the stages that parse them, or leave it out';

type EventAdvice<Given> = [Given] extends [JsonRecord]
  ? 'put map(parseComplianceEvent) before it'
  : 'take them from compliance()';

type PostAdvice<Given, Wanted> = [Given] extends [JsonRecord]
  ? 'put activities() before it'
  : [Given] extends [Uint8Array]
    ? 'put jsonLines(), activities() before it'
    : [Given] extends [string]
      ? `read bytes, not text, and put jsonLines(), activities() before it${OrColumns<Wanted>}`
      : [Given] extends [PromiseLike<unknown>]
        ? 'put mapAsync() in the place of the map() before it'
        : [Given] extends [readonly unknown[]]
          ? `put it before chunk()${OrColumns<Wanted>}`
          : [Given] extends [{ readonly activity: Activity; readonly tag: string }]
            ? 'put it before routeByTag(), or map(({ activity }) => activity) before it'
            : [Given] extends [{ readonly activity: Activity }]
              ? 'put map(({ activity }) => activity) before it'
              : [Given] extends [{ readonly timePeriod: string }]
                ? `take them from search()${OrColumns<Wanted, 'tables.counts'>}`
                : [Given] extends [ComplianceEvent]
                  ? `take them from search()${OrColumns<Wanted, 'tables.complianceEvents'>}`
                  : `map them to posts${OrColumns<Wanted>}`;

/** `csv` and `parquet` read posts and what carries one; other items have columns of their own. */
type OrColumns<Wanted, Table extends string = 'columns of these items'> = [Wanted] extends [
  Activity,
]
  ? ''
  : `, or pass columns: ${Table}`;

/**
 * A stage that reads such items. All its members are optional, and no stage has one of them: the compiler's error for such a
 * type is one line with both types.
 */
interface StageThatReads<Items> {
  readonly items?: Items;
}
