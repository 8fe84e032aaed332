import { expect, it } from 'vitest';
import { parseComplianceEvent } from '../../src/post/compliance-event.js';
import * as tables from '../../src/tables/tables.js';

it.each([
  [
    '{"delete":{"status":{"id":1,"id_str":"9223372036854775807","user_id_str":"2"},"timestamp_ms":"5"}}',
    { kind: 'delete', post_id: '9223372036854775807', user_id: '2', at: new Date(5) },
  ],
  [
    '{"status_withheld":{"status":{"id_str":"1","user_id_str":"2"},"withheld_in_countries":["de"]}}',
    { kind: 'status_withheld', post_id: '1', user_id: '2', countries: ['DE'] },
  ],
  [
    '{"tweet_edit":{"id_str":"3","initial_tweet_id":"1","edit_tweet_ids":["1","3"]}}',
    { kind: 'tweet_edit', post_id: '3', edit_initial_id: '1', edit_ids: ['1', '3'] },
  ],
  [
    '{"scrub_geo":{"user_id_str":"2","up_to_status_id_str":"9"}}',
    { kind: 'scrub_geo', user_id: '2', up_to_id: '9' },
  ],
  ['{"user_protect":{"id_str":"2"}}', { kind: 'user_protect', user_id: '2' }],
  ['{"frogs":{}}', { kind: 'unknown', name: 'frogs' }],
])(
  'the row of a compliance event of kind %s contains its values, and null in other columns',
  (json, values) => {
    const nulls = Object.fromEntries(
      Object.keys(tables.complianceEvents).map(name => [name, null]),
    );
    const event = parseComplianceEvent(Buffer.from(json));
    expect(tables.toRow(tables.complianceEvents)(event)).toEqual({ ...nulls, ...values });
  },
);
