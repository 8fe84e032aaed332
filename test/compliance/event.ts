import { type ComplianceEvent, parseComplianceEvent } from '../../src/post/compliance-event.js';

export function event(value: object): ComplianceEvent {
  return parseComplianceEvent(Buffer.from(JSON.stringify(value)));
}

export function ofPost(kind: string, id: string, at = 1, more: object = {}): ComplianceEvent {
  const status = { id_str: id, user_id_str: '1' };
  return event({ [kind]: { status, timestamp_ms: String(at), ...more } });
}

export function ofUser(kind: string, id: string, at = 1, more: object = {}): ComplianceEvent {
  return event({ [kind]: { id_str: id, timestamp_ms: String(at), ...more } });
}

export function scrubGeo(user: string, upTo: string): ComplianceEvent {
  return event({ scrub_geo: { user_id_str: user, up_to_status_id_str: upTo, timestamp_ms: '1' } });
}

export function edit(ids: readonly string[]): ComplianceEvent {
  return event({
    tweet_edit: {
      id: ids.at(-1),
      initial_tweet_id: ids[0],
      edit_tweet_ids: ids,
      timestamp_ms: '1',
    },
  });
}
