import type { SampleAuthor } from './sample-authors.js';
import { ENRICHED } from './sample-draft.js';
import { SUBJECTS } from './sample-vocabulary.js';

/** The influence of an author, in both formats: a score, and since `ENRICHED` topics. */
interface Influence {
  readonly score: number;
  readonly userId: string;
  readonly page: string;
  readonly topics: readonly { id: string; name: string; page: string; score: number }[];
}

const SITE = 'http://klout.com';

/** The `klout` of a user of the `original` format. */
export function renderUserInfluence(author: SampleAuthor, at: number): string {
  const { score, userId, page, topics } = influenceOf(author);
  const listed = topics.map(
    topic =>
      `{"score":${topic.score},"id":"${topic.id}","url":"${topic.page}","name":"${topic.name}"}`,
  );
  const more =
    at < ENRICHED
      ? ''
      : `,"user_id":"${userId}","profile_url":"${page}","influence_topics":[${listed}]`;
  return `{"score":${score}${more}}`;
}

/** The members of `gnip` about an actor of the `activity_streams` format, without braces. */
export function renderActorInfluence(author: SampleAuthor, at: number): string {
  const { score, userId, page, topics } = influenceOf(author);
  const listed = topics.map(
    topic =>
      `{"id":"${topic.id}","displayName":"${topic.name}","link":"${topic.page}","score":${topic.score},"topic_type":"influence"}`,
  );
  const more =
    at < ENRICHED
      ? ''
      : `,"klout_profile":{"klout_user_id":"${userId}","link":"${page}","topics":[${listed}]}`;
  return `"klout_score":${score}${more}`;
}

const known = new WeakMap<SampleAuthor, Influence>();

function influenceOf(author: SampleAuthor): Influence {
  let influence = known.get(author);
  if (influence === undefined) {
    influence = measure(author);
    known.set(author, influence);
  }
  return influence;
}

function measure({ id, handle, followers }: SampleAuthor): Influence {
  const userId = String(BigInt(id) % 1_000_000_007n);
  const score = Math.min(99, 10 + Math.round(6 * Math.log1p(followers)));
  const first = Number(BigInt(id) % BigInt(SUBJECTS.length));
  const topics = [first, first + 7].map((number, i) => {
    const index = number % SUBJECTS.length;
    const name = SUBJECTS[index] as string;
    return {
      id: String(10_000 + index),
      name,
      page: `${SITE}/topic/${name}`,
      score: Number(Math.max(score / 100 - i / 10, 0.01).toFixed(2)),
    };
  });
  return { score, userId, page: `${SITE}/user/${handle}`, topics };
}
