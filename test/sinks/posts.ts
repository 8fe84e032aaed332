import { Activity } from '../../src/post/activity.js';

export interface PostFields {
  readonly id: string;
  readonly at?: number;
  readonly lang?: string;
  readonly author?: string;
  readonly text?: string;
}

/** Creates a post. Prints the numeric id with all of its digits. */
export function post({
  id,
  at = Date.UTC(2024, 0, 1),
  lang,
  author = 'ada',
  text = 'snow',
}: PostFields): Activity {
  const rest = JSON.stringify({
    id_str: id,
    text,
    ...(lang === undefined ? {} : { lang }),
    user: { id_str: '7', screen_name: author, name: author },
  });
  const [, weekday, day, month, year, clock] =
    /^(\w+), (\d+) (\w+) (\d+) (\S+)/.exec(new Date(at).toUTCString()) ?? [];
  const time = `${weekday} ${month} ${day} ${clock} +0000 ${year}`;
  return new Activity(Buffer.from(`{"created_at":"${time}","id":${id},${rest.slice(1)}`));
}
