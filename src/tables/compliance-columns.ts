import type { ComplianceEvent } from '../post/compliance-event.js';
import { builtIn, definer, type ItemKind } from './column.js';

const EVENTS: ItemKind = {
  name: 'compliance events',
  accepts: item => {
    const { kind, raw } = Object(item) as Partial<ComplianceEvent>;
    return typeof kind === 'string' && raw instanceof Uint8Array;
  },
};

const of = definer<ComplianceEvent>();

/** The columns for compliance events, which are the items of `compliance`. */
export const complianceEvents = builtIn(EVENTS, (event: ComplianceEvent) => event, {
  kind: of(
    'string',
    'Such as `delete` or `user_protect`; `unknown` for a new kind',
    ({ kind }) => kind,
  ),
  name: of('string', 'Of an unknown kind, its own name', event =>
    event.kind === 'unknown' ? event.name : null,
  ),
  at: of('timestamp', 'When it happened', ({ at }) => at),
  post_id: of('string', 'Id of the post, or of the new version of an edited one', event =>
    'postId' in event ? event.postId : null,
  ),
  user_id: of(
    'string',
    'Id of the user, of the author of the post, or of who took a like back',
    event => ('userId' in event ? event.userId : null),
  ),
  countries: of(
    'list<string>',
    'The countries where it is withheld: two letters each, `XX` and `XY` for everywhere',
    event => ('countries' in event ? event.countries : null),
  ),
  up_to_id: of('string', 'Of `scrub_geo`, the newest post that is meant', event =>
    'upToId' in event ? event.upToId : null,
  ),
  edit_initial_id: of('string', 'Of `tweet_edit`, the first version', event =>
    'initialId' in event ? event.initialId : null,
  ),
  edit_ids: of('list<string>', 'Of `tweet_edit`, all versions, ascending', event =>
    'ids' in event ? event.ids : null,
  ),
});
