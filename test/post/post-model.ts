import fc from 'fast-check';

export interface PostModel {
  readonly id: bigint;
  readonly postedAt: Date;
  readonly text: string;
  /** The full text, if `text` is truncated. */
  readonly longText: string | undefined;
  readonly lang: string;
  readonly author: AuthorModel;
  readonly hashtags: readonly string[];
  readonly symbols: readonly string[];
  readonly mentions: readonly AuthorModel[];
  readonly links: readonly LinkModel[];
  readonly media: readonly ('photo' | 'video' | 'animated_gif')[];
  readonly replyTo: { readonly id: bigint; readonly author: AuthorModel } | undefined;
  /** The longitude and latitude. */
  readonly point: readonly [number, number] | undefined;
  readonly place: PlaceModel | undefined;
  readonly shared: PostModel | undefined;
  readonly quoted: PostModel | undefined;
  readonly likes: number;
  readonly retweets: number;
  /** The countries in which the post is withheld, by code. Only the `original` format has them. */
  readonly withheldIn: readonly string[] | undefined;
  readonly edits: readonly bigint[];
  /** The matching rules. If undefined, the post has no list of rules. */
  readonly rules: readonly RuleModel[] | undefined;
}

export interface AuthorModel {
  readonly id: bigint;
  readonly handle: string;
  readonly name: string;
  readonly bio: string | null;
  readonly location: string | undefined;
  readonly verified: boolean;
  /** Whether the account is protected. Only the `original` format has this. */
  readonly isProtected: boolean;
  readonly followers: number;
}

export interface LinkModel {
  readonly url: string;
  readonly title: string;
  readonly description: string;
}

export interface PlaceModel {
  readonly name: string;
  readonly country: string;
  readonly countryCode: string;
  /** The west, south, east and north edges. */
  readonly box: readonly [number, number, number, number];
}

export interface RuleModel {
  readonly tag: string | null;
  readonly id: bigint | undefined;
  readonly value: string | undefined;
}

export const postId: fc.Arbitrary<bigint> = fc.oneof(
  { weight: 6, arbitrary: fc.bigInt(10n ** 16n, 2n ** 63n - 1n) },
  { weight: 1, arbitrary: fc.bigInt(1n, 10n ** 16n) },
  { weight: 1, arbitrary: fc.bigInt(1n, 99_999n) },
);

const trap = fc.constantFrom(
  '"id_str":"1"',
  ',"id":12345678901234567,"id_str":"76543210987654321"',
  ',"matching_rules":[{"tag":"trap"}]}',
  ',"gnip":{"matching_rules":[{"tag":"trap"}]}}',
  '{"info":{"message":"Replay Request Completed"}}',
  '"',
  '\\',
  '\\"',
  '\\\\',
  '":12345678901234567',
  ', 12345678901234567890,',
  '}',
  ']}',
  '{[',
  '\n',
  '\u2028',
  '\u0000',
  'tag:search.twitter.com,2005:1',
);

const word = fc.constantFrom(
  ...[
    'snow',
    'Love',
    'coca-cola',
    'the',
    'RT',
    'café',
    'naïve',
    'İstanbul',
    '大雪',
    '東京',
    'снег',
  ],
  ...['🍕', '👩‍👩‍👧', '🇩🇪', '#snow', '@jack', '$TWTR', 'https://t.co/abc', '&amp;', "don't", 'a/b'],
);

export const postText: fc.Arbitrary<string> = fc
  .array(
    fc.oneof(
      { weight: 8, arbitrary: word },
      { weight: 2, arbitrary: trap },
      { weight: 1, arbitrary: fc.string({ unit: 'grapheme', maxLength: 8 }) },
    ),
    { maxLength: 12 },
  )
  .map(words => words.join(' '));

const name = fc.stringMatching(/^[A-Za-z0-9_]{1,15}$/);

const author: fc.Arbitrary<AuthorModel> = fc.record({
  id: postId,
  handle: name,
  name: postText,
  bio: fc.option(postText),
  location: fc.option(postText, { nil: undefined }),
  verified: fc.boolean(),
  isProtected: fc.boolean(),
  followers: fc.nat(10_000_000),
});

const degrees = (limit: number) =>
  fc.integer({ min: -limit * 1000, max: limit * 1000 }).map(value => value / 1000);

const place: fc.Arbitrary<PlaceModel> = fc.record({
  name: fc.constantFrom('Boulder', 'São Paulo', '渋谷区', 'Fort "Collins"'),
  country: fc.constantFrom('United States', 'Brasil', '日本'),
  countryCode: fc.constantFrom('US', 'BR', 'JP'),
  box: fc
    .tuple(degrees(179), degrees(89))
    .map(([west, south]) => [west, south, west + 0.1, south + 0.1] as const),
});

const rule: fc.Arbitrary<RuleModel> = fc.record({
  tag: fc.option(fc.oneof(fc.constantFrom('snow', 'ski/"day"', 'café', ''), postText)),
  id: fc.option(postId, { nil: undefined }),
  value: fc.option(fc.constantFrom('snow', '"toys \\"R\\" us"'), { nil: undefined, freq: 2 }),
});

const link: fc.Arbitrary<LinkModel> = fc.record({
  url: fc.constantFrom('http://example.com/a?id=12345678901234567', 'https://millrace.dev/x/y'),
  title: postText,
  description: postText,
});

const few = <T>(item: fc.Arbitrary<T>) => fc.array(item, { maxLength: 2 });

const postModelWithin = (depth: number): fc.Arbitrary<PostModel> => {
  const nested =
    depth === 0
      ? fc.constant(undefined)
      : fc.option(postModelWithin(depth - 1), { nil: undefined, freq: 2 });
  return fc.record({
    id: postId,
    // Both formats have times in whole seconds. The earliest time is the day of the first post
    // ever.
    postedAt: fc
      .integer({ min: 1_142_899_200, max: 1_900_000_000 })
      .map(seconds => new Date(seconds * 1000)),
    text: postText,
    longText: fc.option(postText, { nil: undefined, freq: 2 }),
    lang: fc.constantFrom('en', 'ja', 'pt', 'und'),
    author,
    hashtags: few(fc.constantFrom('snow', '1989', '大雪')),
    symbols: few(fc.constantFrom('TWTR', 'A')),
    mentions: few(author),
    links: few(link),
    media: few(fc.constantFrom('photo', 'video', 'animated_gif')),
    replyTo: fc.option(fc.record({ id: postId, author }), { nil: undefined }),
    point: fc.option(fc.tuple(degrees(180), degrees(90)), { nil: undefined }),
    place: fc.option(place, { nil: undefined }),
    shared: nested,
    quoted: nested,
    likes: fc.nat(3_000_000),
    retweets: fc.nat(3_000_000),
    withheldIn: fc.option(fc.array(fc.constantFrom('DE', 'XX', 'XY'), { maxLength: 3 }), {
      nil: undefined,
      freq: 2,
    }),
    edits: fc.array(postId, { maxLength: 3 }),
    rules: fc.option(fc.array(rule, { maxLength: 3 }), { nil: undefined }),
  });
};

export const postModel: fc.Arbitrary<PostModel> = postModelWithin(2);
