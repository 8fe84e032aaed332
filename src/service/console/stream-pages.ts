import { DataError } from '../../base/errors.js';
import { MINUTE, mergeRanges, parseTimestamp, type Window } from '../../base/time.js';
import { Activity } from '../../post/activity.js';
import { fieldsOf } from '../../post/read-fields.js';
import { checkRule } from '../../rules/language/check-rule.js';
import { HttpProblem } from '../http/http-problem.js';
import type { KnownRule } from '../http/rule-bodies.js';
import type { OpenStream } from '../http/stream-status.js';
import { endingOf, type LoggedReplay, type ReplayInfo } from '../replay/replay-log.js';
import {
  type ConsolePage,
  confirmation,
  done,
  type FormResult,
  isConfirmed,
  notDone,
  type PageContent,
  type Visit,
} from './console-page.js';
import { commandList, emptyPage } from './endpoint-list.js';
import { type Html, type HtmlValue, html, isolated } from './html/html.js';
import {
  breakable,
  compactInstant,
  csrfField,
  facts,
  instant,
  messageBox,
  printCount,
  printDuration,
  printNumber,
  printSize,
  renderMinute,
  renderState,
  renderWindow,
  type Tone,
} from './html/page-parts.js';
import { column, type HtmlColumn, listPage, newestFirstCaption } from './html/table.js';
import { problemsView, RULE_COLUMNS } from './rule-view.js';

const STREAM_RULES = '/console/streams/rules';
/** The address of the form that adds a rule. The result of the form is shown there, too. */
const ADD = `${STREAM_RULES}#add`;

export const streamPages: readonly ConsolePage[] = [
  {
    pattern: '/console/streams',
    section: 'streams',
    isLive: true,
    async show(visit) {
      const { context, url } = visit;
      const { streams, rules } = context;
      const { replays } = context.replays;
      await rules.open();
      const caption = newestFirstCaption(replays, 'replay');
      const { suffix, list } = listPage(url, replays, { caption, columns: COLUMNS });
      return {
        title: `Streams${suffix}`,
        lead: html`What flows now, and the replays since the service started. The stream has <a href="${STREAM_RULES}">${printCount(rules.size, 'rule')}</a>.`,
        body: html`<div class="stack" id="flows" data-live>${[...streams].map(flowCard)}${streams.size === 0 && html`<p class="card empty">Nothing is connected.</p>`}</div>
<div id="replays" data-live>${
          replays.length === 0
            ? emptyPage(visit, 'streams', 'No replays yet.')
            : html`<section class="card" aria-label="Replays">${list}</section>`
        }</div>${commandList(visit, 'streams')}`,
      };
    },
  },
  {
    pattern: STREAM_RULES,
    section: 'streams',
    show: (visit, typed) => shown(visit, undefined, typed),
    act: change,
  },
];

function flowCard({ endpoint, url, startedAt, flow }: OpenStream): Html {
  const { messages, perSecond, backlogBytes, recent } = flow;
  const [from, to] = ['fromDate', 'toDate'].map(name =>
    parseTimestamp(url.searchParams.get(name) ?? ''),
  );
  const partition = url.searchParams.get('partition');
  const title =
    endpoint === 'compliance'
      ? `Compliance stream, ${partition === null ? 'all partitions' : `partition ${partition}`}`
      : html`Replay of ${url.pathname.split('/')[2]}, ${from !== undefined && to !== undefined && renderWindow({ from, to })}`;
  return html`<section class="card" aria-label="Connection"><h2>${title}</h2>${facts([
    ['Messages', html`<span class="headline">${printNumber(messages)}</span>`],
    [
      'A second',
      html`<span class="headline">${printNumber(Math.round(perSecond * 10) / 10)}</span>`,
    ],
    ['Waiting to be read', printSize(backlogBytes)],
    ['Since', instant(startedAt)],
  ])}<ul class="stack" aria-label="Last messages">${recent.map(message => html`<li>${lineOf(message)}</li>`)}</ul></section>`;
}

const MAX_LINE = 160;

function lineOf(message: Uint8Array): Html {
  const short = (text: string) => (text.length > MAX_LINE ? `${text.slice(0, MAX_LINE)}…` : text);
  try {
    const activity = new Activity(message);
    return html`<strong>${isolated(`@${activity.author.handle}`)}</strong> ${short(fieldsOf(activity).text)}`;
  } catch (error) {
    if (!(error instanceof DataError)) throw error;
    return html`<code>${breakable(short(Buffer.from(message).toString()))}</code>`;
  }
}

const COLUMNS: readonly HtmlColumn<LoggedReplay>[] = [
  column.header(
    'Replay',
    ({ streamType, window }) => html`${streamType} <small>${renderWindow(window)}</small>`,
  ),
  column.text(
    'Last message',
    replay => html`${renderState(...outcomeOf(replay))}${replay.end && missingOf(replay.end)}`,
    '',
  ),
  column.number('Activities', ({ end }) => end && printNumber(end.activityCount)),
  column.text('Started', ({ startedAt }) => compactInstant(startedAt), ''),
  column.number(
    'Took',
    ({ startedAt, endedAt }) => endedAt !== undefined && printDuration(endedAt - startedAt),
    'took',
  ),
];

const MAX_RANGES = 5;

function missingOf({ unprocessed, minutesFailed }: ReplayInfo): Html | undefined {
  if (unprocessed !== undefined)
    return html`<small>Not processed: ${renderWindow(unprocessed)}</small>`;
  if (minutesFailed.length === 0) return undefined;
  const minutes = minutesFailed.map(from => ({ from, to: from + MINUTE }));
  const ranges = mergeRanges(minutes, () => true);
  return html`<small>${printCount(minutesFailed.length, 'minute')} failed: ${ranges
    .slice(0, MAX_RANGES)
    .map(
      (range, index) => html`${index > 0 && ', '}${rangeOf(range)}`,
    )}${ranges.length > MAX_RANGES && ' and others'}</small>`;
}

function rangeOf(range: Window): Html {
  return range.to - range.from === MINUTE ? renderMinute(range.from) : renderWindow(range);
}

export function outcomeOf({ end, endedAt }: LoggedReplay): readonly [words: string, tone: Tone] {
  if (endedAt === undefined) return ['streaming', 'busy'];
  if (end === undefined) return ['cut off before its last message', 'bad'];
  if (end.unprocessed !== undefined) return [endingOf(end), 'bad'];
  return [endingOf(end), end.minutesFailed.length > 0 ? 'warn' : 'good'];
}

/** Renders the rules of the replay stream, with forms to add and delete rules. */
async function shown(
  { context, csrf, messageAt, url }: Visit,
  refused?: HtmlValue,
  given?: URLSearchParams,
): Promise<PageContent> {
  await context.rules.open();
  const rules = context.rules.all().toReversed();
  const { suffix, list } = listPage(url, rules, {
    caption: `${printCount(rules.length, 'rule')}, newest first`,
    columns: [
      ...RULE_COLUMNS,
      column.text<KnownRule>(
        'Change',
        ({ id, value }) =>
          html`<form method="post" action="${STREAM_RULES}">${csrfField(csrf)}<input type="hidden" name="id" value="${id}"><button class="plain" name="action" value="delete">Delete<span class="unseen"> ${value}</span></button></form>`,
        '',
      ),
    ],
  });
  const isWrong = refused !== undefined;
  return {
    title: `Rules of the stream${suffix}`,
    status: isWrong ? 422 : 200,
    lead: html`What replays of <code>rulestream</code> deliver. <a href="/console/streams">All streams</a>`,
    body: html`<section class="card" id="add" aria-label="Add a rule"><form method="post" action="${STREAM_RULES}">${csrfField(csrf)}
<div class="fields"><div class="field"><label for="value">Rule</label><textarea id="value" name="value" rows="2" spellcheck="false" autocapitalize="none" required${isWrong && html` aria-invalid="true" aria-describedby="problem" autofocus`}>${given?.get('value')}</textarea></div>
<div class="field"><label for="tag">Tag <span class="hint">optional</span></label><input id="tag" name="tag" type="text" autocomplete="off" value="${given?.get('tag')}"></div></div>
${isWrong && html`<div id="problem">${refused}</div>`}
<div class="row"><button class="main" name="action" value="add">Add</button></div></form>${messageAt('add')}</section>
<section class="card" aria-label="Rules">${rules.length === 0 ? html`<p class="empty">The stream has no rules.</p>` : list}</section>`,
  };
}

async function change(visit: Visit, form: URLSearchParams): Promise<FormResult> {
  const { rules } = visit.context;
  const refused = (text: string) => shown(visit, messageBox({ tone: 'bad', text }), form);
  await rules.open();
  try {
    rules.checkIdle();
  } catch (error) {
    if (!(error instanceof HttpProblem)) throw error;
    return refused(error.message);
  }
  if (form.get('action') === 'delete') {
    const id = form.get('id') ?? '';
    const rule = rules.all().find(rule => String(rule.id) === id);
    if (rule !== undefined && !isConfirmed(form))
      return confirmation(visit, form, {
        title: 'Delete a rule?',
        text: html`The stream no longer delivers what only this rule matches: <code>${isolated(rule.value)}</code>`,
        action: 'Delete',
      });
    const { deleted } = await rules.delete({ ids: [id] });
    return deleted === 0
      ? notDone(ADD, 'The stream no longer has this rule.')
      : done(ADD, 'The rule is deleted.');
  }
  const value = (form.get('value') ?? '').trim();
  const tag = form.get('tag')?.trim() || null;
  const problems = checkRule(value, { product: 'replay', tag }).problems.filter(
    ({ severity }) => severity === 'error',
  );
  if (problems.length > 0)
    return shown(visit, html`<div role="alert">${problemsView(value, problems)}</div>`, form);
  const [outcome] = await rules.add([{ value, tag }]);
  const { message = 'The rule is added.' } = outcome ?? {};
  return outcome?.done ? done(ADD, message) : refused(message);
}
