import { Buffer } from 'node:buffer';

/**
 * A source of posts on which Millrace was not tuned, and which Millrace's local service does not
 * generate. One third are retweets with a nested `retweeted_status`, and one tenth have several
 * tags. Texts contain CJK, emoji, Latin and escapes. Some posts have white space between tokens, or
 * have their members in a different order.
 */
export class SecondCorpus {
  #state: number;
  #id = 1_611_000_000_000_000_000n;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** Returns a post without a line feed. @param atMs The time of the post in epoch milliseconds. */
  line(atMs: number): Buffer {
    this.#id += BigInt(1 + this.#below(4_000_000));
    const shared = this.#below(3) === 0;
    const text = this.#text(shared ? 8 : 72);
    const post = this.#post(this.#id, atMs, text);
    if (shared) {
      const original = this.#post(
        this.#id - BigInt(1e12 + this.#below(1e9)),
        atMs - this.#below(9e8),
        this.#text(60),
      );
      post.push(['retweeted_status', object(original)]);
    }
    post.push(['matching_rules', this.#rules()]);
    const roll = this.#below(100);
    if (roll === 0) post.push(...post.splice(1, 2));
    const spaced = roll === 1 ? ' ' : '';
    return Buffer.from(object(post, spaced));
  }

  #post(id: bigint, atMs: number, text: string): [string, string][] {
    const user = this.#below(200_000);
    const media = this.#below(4) === 0;
    return [
      ['created_at', JSON.stringify(createdAt(atMs))],
      ['id', `${id}`],
      ['id_str', `"${id}"`],
      ['text', text],
      ['source', '"<a href=\\"https:\\/\\/mobile.example\\" rel=\\"nofollow\\">Mobile<\\/a>"'],
      ['truncated', 'false'],
      ['in_reply_to_status_id', 'null'],
      ['in_reply_to_status_id_str', 'null'],
      ['in_reply_to_user_id', 'null'],
      ['in_reply_to_user_id_str', 'null'],
      ['in_reply_to_screen_name', 'null'],
      ['user', object(this.#user(user))],
      ['geo', 'null'],
      ['coordinates', 'null'],
      ['place', 'null'],
      ['contributors', 'null'],
      ['is_quote_status', 'false'],
      ['quote_count', `${this.#below(40)}`],
      ['reply_count', `${this.#below(90)}`],
      ['retweet_count', `${this.#below(5_000)}`],
      ['favorite_count', `${this.#below(20_000)}`],
      ['entities', this.#entities(media)],
      ...(media ? [['extended_entities', this.#entities(true)] as [string, string]] : []),
      ['favorited', 'false'],
      ['retweeted', 'false'],
      ['filter_level', '"low"'],
      ['lang', `"${this.#of(['ja', 'ko', 'zh', 'en', 'pt', 'und'])}"`],
      ['timestamp_ms', `"${atMs}"`],
    ];
  }

  #user(number: number): [string, string][] {
    const id = 1_000_000_000_000 + number * 7_919;
    const image = this.#hex(12);
    return [
      ['id', `${id}`],
      ['id_str', `"${id}"`],
      ['name', this.#text(2)],
      ['screen_name', `"reader_${number.toString(36)}"`],
      ['location', this.#below(2) === 0 ? 'null' : this.#text(2)],
      ['url', 'null'],
      ['description', this.#text(18)],
      ['translator_type', '"none"'],
      ['protected', 'false'],
      ['verified', 'false'],
      ['followers_count', `${this.#below(50_000)}`],
      ['friends_count', `${this.#below(5_000)}`],
      ['listed_count', `${this.#below(300)}`],
      ['favourites_count', `${this.#below(90_000)}`],
      ['statuses_count', `${this.#below(90_000)}`],
      ['created_at', JSON.stringify(createdAt(1.2e12 + number * 1_000_003))],
      ['utc_offset', 'null'],
      ['time_zone', 'null'],
      ['geo_enabled', 'true'],
      ['lang', 'null'],
      ['contributors_enabled', 'false'],
      ['is_translator', 'false'],
      ['profile_background_color', '"F5F8FA"'],
      [
        'profile_background_image_url',
        '"http:\\/\\/abs.example\\/images\\/themes\\/theme1\\/bg.png"',
      ],
      [
        'profile_background_image_url_https',
        '"https:\\/\\/abs.example\\/images\\/themes\\/theme1\\/bg.png"',
      ],
      ['profile_background_tile', 'false'],
      ['profile_link_color', `"${this.#hex(3).toUpperCase()}"`],
      ['profile_sidebar_border_color', '"C0DEED"'],
      ['profile_sidebar_fill_color', '"DDEEF6"'],
      ['profile_text_color', '"333333"'],
      ['profile_use_background_image', 'true'],
      ['profile_image_url', `"http:\\/\\/pbs.example\\/profile_images\\/${image}_normal.jpg"`],
      [
        'profile_image_url_https',
        `"https:\\/\\/pbs.example\\/profile_images\\/${image}_normal.jpg"`,
      ],
      ['default_profile', 'true'],
      ['default_profile_image', 'false'],
      ['following', 'null'],
      ['follow_request_sent', 'null'],
      ['notifications', 'null'],
    ];
  }

  #entities(media: boolean): string {
    const url = this.#hex(5);
    const urls = `[{"url":"https:\\/\\/t.example\\/${url}","expanded_url":"https:\\/\\/news.example\\/${this.#hex(8)}","display_url":"news.example\\/${url}","indices":[20,43]}]`;
    const items = `[{"id":${this.#id - 99n},"id_str":"${this.#id - 99n}","indices":[44,67],"media_url":"http:\\/\\/pbs.example\\/media\\/${url}.jpg","media_url_https":"https:\\/\\/pbs.example\\/media\\/${url}.jpg","type":"photo","sizes":{"thumb":{"w":150,"h":150,"resize":"crop"},"small":{"w":680,"h":510,"resize":"fit"},"large":{"w":1600,"h":1200,"resize":"fit"}}}]`;
    return `{"hashtags":[{"text":${this.#text(1)},"indices":[0,8]}],"urls":${urls},"user_mentions":[],"symbols":[]${media ? `,"media":${items}` : ''}}`;
  }

  #rules(): string {
    const tags = ['\\u00fcber', 'quote\\"d', '天気', 'a/b', 'long tag of a rule', 'z'];
    const count = this.#below(10) === 0 ? 2 + this.#below(3) : 1;
    const first = this.#below(12);
    const rules = Array.from({ length: count }, (_, index) => {
      const at = (first + index) % 12;
      const tag = tags[at];
      const id = `91000000000000000${10 + at}`;
      return `{"tag":${tag === undefined ? 'null' : `"${tag}"`},"id":${id},"id_str":"${id}"}`;
    });
    return `[${rules.join(',')}]`;
  }

  #text(words: number): string {
    let text = '"';
    for (let word = 0; word < words; word++) {
      const kind = this.#below(8);
      if (kind < 2) {
        for (let left = 1 + this.#below(5); left > 0; left--)
          text += String.fromCodePoint(0x4e00 + this.#below(2_000));
      } else if (kind === 2) text += String.fromCodePoint(0x1f600 + this.#below(64));
      else if (kind === 3) text += `\\u30${this.#hex(1)}\\/`;
      else text += this.#of(WORDS);
      text += ' ';
    }
    return `${text.trimEnd()}"`;
  }

  #hex(bytes: number): string {
    let hex = '';
    for (let at = 0; at < bytes; at++) hex += this.#below(256).toString(16).padStart(2, '0');
    return hex;
  }

  #of<T>(list: readonly T[]): T {
    return list[this.#below(list.length)] as T;
  }

  #below(limit: number): number {
    this.#state = (Math.imul(this.#state, 1664525) + 1013904223) >>> 0;
    return Math.floor((this.#state / 2 ** 32) * limit);
  }
}

const WORDS =
  'the of and rain coffee morning train street market water letter window garden paper river bread music city'.split(
    ' ',
  );
const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];

/** Formats a time as `Mon Oct 03 06:30:00 +0000 2022`. */
function createdAt(ms: number): string {
  const [, day, month, year, time] = new Date(ms).toUTCString().split(' ');
  return `${DAYS[new Date(ms).getUTCDay()]} ${month} ${day} ${time} +0000 ${year}`;
}

function object(members: readonly (readonly [string, string])[], space = ''): string {
  return `{${members.map(([key, value]) => `"${key}":${space}${value}`).join(`,${space}`)}}`;
}
