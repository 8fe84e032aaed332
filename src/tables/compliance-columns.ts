import type { ComplianceEvent } from '../activity/compliance-event.js';
import { builtIn, type ItemKind } from './built-in.js';

const EVENTS: ItemKind = {
  name: 'compliance events',
  accepts: item => {
    const { kind, raw } = Object(item) as Partial<ComplianceEvent>;
    return typeof kind === 'string' && raw instanceof Uint8Array;
  },
};

/** The columns of compliance events, as `compliance` gives them. */
export const complianceEvents = builtIn(EVENTS, (event: ComplianceEvent) => event, {
  kind: {
    type: 'string',
    meaning: 'Such as `delete` or `user_protect`; `unknown` for a new kind',
    value: ({ kind }) => kind,
  },
  name: {
    type: 'string',
    meaning: 'Of an unknown kind, its own name',
    value: event => (event.kind === 'unknown' ? event.name : null),
  },
  at: { type: 'timestamp', meaning: 'When it happened', value: ({ at }) => at },
  post_id: {
    type: 'string',
    meaning: 'Id of the post, or of the new version of an edited one',
    value: event => ('postId' in event ? event.postId : null),
  },
  user_id: {
    type: 'string',
    meaning: 'Id of the user, of the author of the post, or of who took a like back',
    value: event => ('userId' in event ? event.userId : null),
  },
  countries: {
    type: 'list<string>',
    meaning: 'Where it is withheld: two letters each, `XX` and `XY` for everywhere',
    value: event => ('countries' in event ? event.countries : null),
  },
  up_to_id: {
    type: 'string',
    meaning: 'Of `scrub_geo`, the newest post that is meant',
    value: event => ('upToId' in event ? event.upToId : null),
  },
  edit_initial_id: {
    type: 'string',
    meaning: 'Of `tweet_edit`, the first version',
    value: event => ('initialId' in event ? event.initialId : null),
  },
  edit_ids: {
    type: 'list<string>',
    meaning: 'Of `tweet_edit`, all versions, ascending',
    value: event => ('ids' in event ? event.ids : null),
  },
});
