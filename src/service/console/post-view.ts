import type { Activity } from '../../post/activity.js';
import type { PostFields } from '../../post/post-fields.js';
import { fieldsOf } from '../../post/read-fields.js';
import type { MatchedTerms } from '../../rules/match/matched-terms.js';
import { type Html, html, isolated } from './html/html.js';
import { instant, printCount } from './html/page-parts.js';

export function postView(activity: Activity, matched?: MatchedTerms): Html {
  const fields = fieldsOf(activity);
  const { media, quoted, lang, favorites, retweets } = fields;
  const numbers = [
    favorites !== undefined && printCount(favorites, 'like'),
    retweets !== undefined && printCount(retweets, 'repost'),
    lang !== '' && lang,
  ].filter(Boolean);
  return html`<article class="post"><p class="row"><span>${authorOf(fields)}</span> ${instant(activity.postedAt.getTime())}</p>
<p class="text" dir="auto">${textOf(fields, matched)}</p>
${media.length > 0 && html`<p class="row tight">${media.map(({ type }) => html`<span class="medium">${type.replaceAll('_', ' ')}</span>`)}</p>`}
${quoted !== undefined && html`<blockquote><p>${authorOf(quoted)}</p><p class="text" dir="auto">${textOf(quoted, undefined)}</p></blockquote>`}
<p class="quiet">${numbers.join(', ')}${matched && html`. Matched: ${matched.clauses.map((clause, i) => html`${i > 0 && ', '}<code>${clause}</code>`)}`}</p>
<details><summary>JSON</summary>${jsonView(undefined, activity.raw.toString())}</details></article>`;
}

export function jsonView(caption: string | undefined, json: string): Html {
  return html`<figure class="command">${caption !== undefined && html`<figcaption>${caption}</figcaption>`}<pre class="json"><code>${indented(json)}</code></pre></figure>`;
}

function authorOf({ author: { name, writtenHandle } }: PostFields): Html {
  return html`<strong>${isolated(name)}</strong> <span class="quiet">${isolated(`@${writtenHandle}`)}</span>`;
}

const ENTITY = /https?:\/\/[^\s…]+|[#＃@$][\p{L}\p{M}\p{N}_]+/gu;

function textOf(fields: PostFields, matched?: MatchedTerms) {
  const { links, hashtags, cashtags, mentions } = fields;
  const text = withoutMediaLink(fields);
  const isMarked = new Uint8Array(text.length);
  for (const { start, end } of matched?.spansIn(text) ?? []) isMarked.fill(1, start, end);
  const names = new Set(
    [...hashtags, ...cashtags, ...mentions.map(({ handle }) => handle)].map(name =>
      name.toLowerCase(),
    ),
  );
  const parts: Html[] = [];
  let at = 0;
  for (const { 0: entity, index } of text.matchAll(ENTITY)) {
    const end = index + entity.length;
    const link = links.find(({ url }) => url === entity);
    if (link === undefined && !names.has(entity.slice(1).toLowerCase())) continue;
    parts.push(...runsOf(text, isMarked, at, index));
    const shown = runsOf(text, isMarked, index, end);
    parts.push(link === undefined ? html`<span class="entity">${shown}</span>` : linkTo(link));
    at = end;
  }
  return [...parts, ...runsOf(text, isMarked, at, text.length)];
}

/** Removes the link at the end of the text if it only leads to the media of the post. */
function withoutMediaLink({ text, links, media }: PostFields): string {
  const [link] = /\s*https?:\/\/t\.co\/\w+$/.exec(text) ?? [];
  const isOfMedia = media.length > 0 && links.every(({ url }) => url !== link?.trim());
  return link !== undefined && isOfMedia ? text.slice(0, -link.length) : text;
}

function runsOf(text: string, isMarked: Uint8Array, from: number, to: number): Html[] {
  const runs: Html[] = [];
  for (let start = from; start < to; ) {
    let end = start + 1;
    while (end < to && isMarked[end] === isMarked[start]) end++;
    const run = text.slice(start, end);
    runs.push(isMarked[start] === 1 ? html`<mark>${run}</mark>` : html`${run}`);
    start = end;
  }
  return runs;
}

function linkTo({ url, expanded, display }: PostFields['links'][number]): Html {
  const target = [expanded, url].find(address => /^https?:\/\//i.test(address));
  const shown = display === '' ? url : display;
  return target === undefined
    ? html`<span class="entity">${shown}</span>`
    : html`<a href="${target}" rel="noreferrer nofollow">${shown}</a>`;
}

const TOKEN = /"(?:[^"\\]|\\.)*"|([{[])\s*([}\]])?|[}\]]|,|:|\s+/g;

/**
 * Indents JSON. Changes only white space between tokens, so that ids and escapes stay unchanged.
 */
export function indented(json: string): string {
  let indent = '\n';
  return json.replace(TOKEN, (token, opening?: string, closing?: string) => {
    if (token.startsWith('"')) return token;
    if (opening !== undefined && closing !== undefined) return opening + closing;
    if (opening !== undefined) {
      indent += '  ';
      return opening + indent;
    }
    if (token === ',') return `,${indent}`;
    if (token === ':') return ': ';
    if (token.trim() === '') return '';
    indent = indent.slice(0, -2);
    return `${indent}${token}`;
  });
}
