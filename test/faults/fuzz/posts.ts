import { loadModule } from '../load-library.js';
import { check, expectSame, isRecord, outcomes, type ParserKind, parsedJson } from './parser.js';
import { seedJson, seedPost } from './seeds.js';

const KEYS = [
  ...[
    '"id":',
    '"id_str":',
    '"created_at":',
    '"postedTime":',
    '"text":',
    '"body":',
    '"user":',
    '"actor":',
  ],
  ...['"matching_rules":[', '"gnip":{', '"retweeted_status":{', '"object":{', '"quoted_status":{'],
  ...[
    '"full_text":',
    '"extended_tweet":{',
    '"verb":"share"',
    '"edit_history":{',
    '"coordinates":[',
  ],
  ...[
    '"info":',
    '"delete":{',
    '"error":{',
    '\\u0069d',
    '{',
    '}',
    '[',
    ']',
    ',',
    '"',
    '9007199254740993',
  ],
];

/** Properties of a post that the library can read either from its bytes or by parsing. */
const FIELDS = [
  ...(['format', 'id', 'postedAt', 'text', 'author', 'verb', 'lang', 'link'] as const),
  ...(['matchingRules', 'tags', 'edits'] as const),
];

export const members: ParserKind = {
  holds: 'each property is that of the same post, parsed and printed again',
  async open(library) {
    const { Activity } = await loadModule(library, 'post/activity');
    const errors = await outcomes(library);
    return {
      tokens: KEYS,
      seed: random => Buffer.from(seedPost(random)),
      attempt(input) {
        const read = (bytes: Buffer) => {
          const post = new Activity(bytes);
          const values = FIELDS.map(name => {
            const { value, error } = errors.of(() => post[name]);
            return [name, error === undefined ? (value ?? null) : 'refused'];
          });
          return [...values, ['whole', errors.of(() => post.post).error === undefined]];
        };
        const found = read(input);
        errors.of(() => new Activity(input).retweeted?.text);
        errors.of(() => new Activity(input).quoted?.id);
        errors.of(() => new Activity(input).withMatchingRules([{ id: '1', tag: 'x' }]).tags);
        const parsed = parsedJson(input);
        const isPost = errors.of(() => new Activity(input).post).error === undefined;
        expectSame(isPost, isRecord(parsed?.value), 'Parsed as a whole, it is accepted:');
        if (!isPost || parsed === undefined) return false;
        // `JSON.parse` changes long numbers and repeated keys, so such inputs are not compared.
        const text = input.toString();
        if (/\d{15}|[eE][+-]?\d|\d\.\d/.test(text.replace(/"(?:[^"\\]|\\.)*"/g, '""'))) return true;
        if (membersIn(text) !== membersOf(parsed.value)) return true;
        const again = Buffer.from(JSON.stringify(parsed.value));
        expectSame(found, read(again), 'Its properties are');
        return true;
      },
    };
  },
};

export const messages: ParserKind = {
  holds: 'a message, an event or none',
  async open(library) {
    const { parseInStreamMessage } = await loadModule(library, 'post/in-stream-message');
    const { parseComplianceEvent } = await loadModule(library, 'post/compliance-event');
    const errors = await outcomes(library);
    const at = '2018-01-06T20:00:00.000Z';
    const seeds: readonly unknown[] = [
      { info: { message: 'Replay Request Completed', sent: at, activity_count: 5 } },
      {
        info: {
          message: 'Replay Request Completed with Errors',
          sent: at,
          activity_count: 5,
          minutes_failed: ['2018-01-06T20:00:00+00:00'],
        },
      },
      { info: { message: 'Replay Request Failed to Complete', sent: at, unprocessed_range: {} } },
      { error: { message: 'x', sent: at } },
      { delete: { tweet: { id: 5, author_id: 6, id_str: '5' }, timestamp_ms: '1515268800000' } },
      { delete: { status: { id: 5, id_str: '5', user_id: 6 }, timestamp_ms: '1515268800000' } },
      { user_withheld: { user: { id: 5, withheld_in_countries: ['DE'] }, timestamp_ms: '1' } },
      { status_withheld: { status: { id: 5 }, withheld_in_countries: ['DE', 'xx'] } },
      { scrub_geo: { user_id: 5, up_to_status_id: 7, timestamp_ms: '1' } },
      { tweet_edit: { id: '6', initial_tweet_id: '5', edit_tweet_ids: ['5', '6'] } },
      { user_delete: { id: 5, timestamp_ms: '1515268800000' } },
    ];
    return {
      tokens: KEYS,
      seed: random => Buffer.from(JSON.stringify(random.pick(seeds))),
      attempt(input) {
        const message = errors.of(() => parseInStreamMessage(input));
        const event = errors.of(() => parseComplianceEvent(input));
        if (event.value !== undefined)
          check(isRecord(parsedJson(input)?.value), 'Taken for an event, and is not JSON');
        return message.value !== undefined || event.error === undefined;
      },
    };
  },
};

export const exactJson: ParserKind = {
  holds: 'accepted exactly if `JSON.parse` accepts it, with the same shape',
  async open(library) {
    const { parseExact } = await loadModule(library, 'json/exact-ids');
    const errors = await outcomes(library);
    return {
      tokens: KEYS,
      seed: random => Buffer.from(JSON.stringify(seedJson(random, 4))),
      attempt(input) {
        const { value, error } = errors.of(() => parseExact(input));
        const parsed = parsedJson(input);
        expectSame(error === undefined, parsed !== undefined, 'It is accepted:');
        // `parseExact` returns ids and long numbers as strings, so only the shapes of both values
        // are compared.
        const rounded = (one: unknown): unknown => {
          if (typeof one === 'string' || typeof one === 'number') return 'scalar';
          if (Array.isArray(one)) return one.map(rounded);
          if (!isRecord(one)) return one;
          return Object.entries(one).map(([key, of]) => [key, rounded(of)]);
        };
        if (parsed !== undefined) expectSame(rounded(value), rounded(parsed.value), 'Its shape is');
        return error === undefined;
      },
    };
  },
};

function membersIn(text: string): number {
  return [...text.replace(/"(?:[^"\\]|\\.)*"/gs, '').matchAll(/:/g)].length;
}

function membersOf(value: unknown): number {
  if (Array.isArray(value)) return value.reduce((sum, one) => sum + membersOf(one), 0);
  if (!isRecord(value)) return 0;
  const each = Object.values(value);
  return each.reduce<number>((sum, one) => sum + membersOf(one), each.length);
}
