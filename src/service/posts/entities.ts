import { domainToASCII } from 'node:url';

export interface Entity {
  readonly kind: 'hashtag' | 'symbol' | 'mention' | 'url';
  /** The entity as written in the text, including its `#`, `$` or `@`. */
  readonly text: string;
  /** The start in UTF-16 code units, like string indices. */
  readonly start: number;
  readonly end: number;
}

/**
 * Finds the tags, mentions and links in an unescaped text by the rules of twitter-text. Returns them in the
 * order of the text. They do not overlap.
 */
export function entitiesIn(text: string): readonly Entity[] {
  const found = [
    ...urlsIn(text),
    ...matchesOf('hashtag', text, HASHTAG),
    ...matchesOf('mention', text, MENTION),
    ...matchesOf('symbol', text, CASHTAG),
  ].sort((a, b) => a.start - b.start);
  let end = 0;
  return found.filter(entity => {
    if (entity.start < end) return false;
    end = entity.end;
    return true;
  });
}

/** Escapes text in the same way as the service. */
export function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

const LATIN =
  '\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u0253\u0254\u0256\u0257\u0259\u025b\u0263\u0268\u026f\u0272\u0289\u028b\u02bb\u0300-\u036f\u1e00-\u1eff';
const DIRECTION = '\u202a-\u202e\u061c\u200e\u200f\u2066-\u2069';
const PUNCTUATION = "!'#%&()*+,\\-.\\/:;<=>?@\\[\\\\\\]\\^_\\{\\|\\}~$";
/**
 * The characters of a tag: letters, marks, digits, and characters that some scripts have inside words, such
 * as joiners and `・`.
 */
const TAG =
  '\\p{L}\\p{M}\\p{Nd}_\u200c\u200d\ua67e\u05be\u05f3\u05f4\uff5e\u301c\u309b\u309c\u30a0\u30fb\u3003\u0f0b\u0f0c\u00b7';

/**
 * Matches hashtags. A variation selector (`\ufe0e`, `\ufe0f`) is a mark, and a tag may contain marks. Before
 * `#`, however, a selector belongs to an emoji, so a tag can follow it. A `\ufe0f` after `#` turns `#` into
 * an emoji, so no tag starts there.
 */
const HASHTAG = new RegExp(
  `(?<=^|\ufe0e|\ufe0f|[^&${TAG}])[#＃](?!\ufe0f|\u20e3)(?=[${TAG}]*[\\p{L}\\p{M}])[${TAG}]+(?![${TAG}#＃]|://)`,
  'gu',
);
const MENTION = new RegExp(
  `(?<=^|[^\\w!#$%&*@＠]|(?:^|[^\\w+~.-])[Rr][Tt]:?)[@＠](?:\\w{20}|\\w{1,19}(?!\\w))(?![@＠${LATIN}]|://|/[a-zA-Z])`,
  'gu',
);
const CASHTAG = new RegExp(
  `(?<=^|[\\s${DIRECTION}])\\$[a-zA-Z]{1,6}(?:[._][a-zA-Z]{1,2})?(?=$|[\\s${PUNCTUATION}])`,
  'gu',
);

function matchesOf(kind: Entity['kind'], text: string, pattern: RegExp): readonly Entity[] {
  return Array.from(text.matchAll(pattern), ({ 0: match, index }) => ({
    kind,
    text: match,
    start: index,
    end: index + match.length,
  }));
}

/**
 * The country codes, and the most common other top-level domains. A host without a protocol is only a link if
 * it ends in one of these domains.
 */
const TOP_LEVELS =
  `ac ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj bm bn bo br bs bt bw by bz
ca cc cd cf cg ch ci ck cl cm cn co cr cu cv cw cx cy cz de dj dk dm do dz ec ee eg er es et eu fi fj fk fm fo fr
ga gb gd ge gf gg gh gi gl gm gn gp gq gr gs gt gu gw gy hk hm hn hr ht hu id ie il im in io iq ir is it je jm jo jp
ke kg kh ki km kn kp kr kw ky kz la lb lc li lk lr ls lt lu lv ly ma mc md me mg mh mk ml mm mn mo mp mq mr ms mt mu mv mw mx my mz
na nc ne nf ng ni nl no np nr nu nz om pa pe pf pg ph pk pl pm pn pr ps pt pw py qa re ro rs ru rw
sa sb sc sd se sg sh si sj sk sl sm sn so sr ss st su sv sx sy sz tc td tf tg th tj tk tl tm tn to tr tt tv tw tz
ua ug uk us uy uz va vc ve vg vi vn vu wf ws ye yt za zm zw
com net org edu gov mil int info biz name pro mobi travel jobs aero asia cat coop museum post tel xxx
app art blog cloud club design dev email events fun games global group guru health help host life live media news online page photos
press radio site social software solutions space store studio tech tips today top video website wiki win work world xyz zone
рф бел укр срб भारत ไทย 한국 中国 中國 台灣 香港 みんな コム ストア セール 公司 网络 网址 在线`.split(
    /\s/,
  );

const ENDS_IN = `(?:${TOP_LEVELS.join('|')})(?![0-9A-Za-z@+-])`;
/**
 * Any top-level domain of letters, such as the reserved `example` and `test`. Only allowed for links with a
 * protocol.
 */
const ENDS_IN_LETTERS = '[a-z]{2,63}(?![0-9A-Za-z_@+-]|\\.[0-9A-Za-z])';
const HOST = hostOf(`[^\\s\\p{Cc}${PUNCTUATION}${DIRECTION}]`, '[-_]', ENDS_IN);
const ASCII_HOST = hostOf('[a-z0-9]', '[-_]', ENDS_IN_LETTERS);
const BARE_HOST = hostOf(`[a-z0-9${LATIN}]`, '-', ENDS_IN);

/**
 * Returns a pattern for a host name. Each label starts and ends with `character`. In between, it may also
 * contain `inside`. The label before the top-level domain may contain hyphens instead.
 */
function hostOf(character: string, inside: string, ending: string): string {
  const label = (joiner: string) => `${character}(?:(?:${character}|${joiner})*${character})?\\.`;
  return `(?:${label(inside)})*${label('-')}${ending}`;
}

const LINK = new RegExp(
  `(?<![A-Za-z0-9@＠$#＃])(?:https?://(?<host>${HOST}|${ASCII_HOST})|(?<![-_./${LATIN}])(?<bare>${BARE_HOST}))(?::\\d+)?`,
  'giu',
);
const PATH = new RegExp(`[a-z0-9!*';:=+,.$/%#\\[\\]\\-–_~@|&\\p{Script=Cyrillic}${LATIN}]`, 'iu');
const PATH_END = new RegExp(`[a-z0-9+\\-=_#/\\p{Script=Cyrillic}${LATIN}]`, 'iu');
const QUERY = /\?[a-z0-9!?*'@();:&=+$/%#[\]\-_.,~|]*[a-z0-9\-_&=#/]/iy;
const SHORTENED = /^https?:\/\/t\.co\/([a-z0-9]+)/i;
const SHORTENED_MAX = 40;

function urlsIn(text: string): readonly Entity[] {
  const found: Entity[] = [];
  LINK.lastIndex = 0;
  for (let match = LINK.exec(text); match !== null; match = LINK.exec(text)) {
    const { host, bare } = match.groups as Record<'host' | 'bare', string | undefined>;
    const start = match.index;
    let end = queryEnd(text, pathEnd(text, LINK.lastIndex));
    const [shortened, code = ''] = SHORTENED.exec(text.slice(start, end)) ?? [];
    if (shortened !== undefined) end = queryEnd(text, start + shortened.length);
    LINK.lastIndex = end;
    if (!isHost(host ?? bare ?? '') || code.length > SHORTENED_MAX) continue;
    found.push({ kind: 'url', text: text.slice(start, end), start, end });
  }
  return found;
}

function isHost(host: string): boolean {
  // `domainToASCII` returns an empty string for a label that is not valid Punycode.
  const ascii = domainToASCII(host);
  return ascii !== '' && ascii.split('.').every(label => label.length <= 63);
}

/** Returns the end of a path. Excludes trailing punctuation, and a parenthesis that is not closed. */
function pathEnd(text: string, start: number): number {
  if (text[start] !== '/') return start;
  let end = start + 1;
  let depth = 0;
  for (let i = end; i < text.length; i++) {
    const character = text[i] as string;
    if (character === '(' && depth < 2) depth++;
    else if (character === ')' && depth > 0) depth--;
    else if (!PATH.test(character)) break;
    if (depth === 0 && (character === ')' || PATH_END.test(character))) end = i + 1;
  }
  return end;
}

function queryEnd(text: string, start: number): number {
  QUERY.lastIndex = start;
  return QUERY.test(text) ? QUERY.lastIndex : start;
}
