import { checkRule } from '../../rules/language/check-rule.js';
import { HttpProblem } from '../http/http-problem.js';
import { checkIdle } from '../replay/rules-routes.js';
import type { StreamRule } from '../replay/stream-rules.js';
import type { ConsolePage, FormRedirect, PageContent, PageRequest } from './console-page.js';
import { type HtmlValue, html, isolated } from './html/html.js';
import { csrfField, type Message } from './html/page-parts.js';
import { column, headerColumn, listPage } from './html/table.js';
import { countOf } from './html/units.js';
import { problemsView } from './rule-view.js';

export const STREAM_RULES = '/console/streams/rules';

/** The rules of the replay stream, to add and to delete as programs do. */
export const streamRulePages: readonly ConsolePage[] = [
  {
    pattern: STREAM_RULES,
    section: 'streams',
    show: visit => shown(visit),
    act: change,
  },
];

async function shown(
  visit: PageRequest,
  refused?: HtmlValue,
  given?: URLSearchParams,
): Promise<PageContent> {
  const { parts, csrf, messageAt, incoming } = visit;
  await parts.rules.open();
  const rules = parts.rules.all().toReversed();
  const { suffix, list } = listPage(incoming.url, rules, {
    caption: `${countOf(rules.length, 'rule')}, newest first`,
    columns: [
      headerColumn<StreamRule>(
        'Rule',
        ({ value }) => html`<code class="long">${isolated(value)}</code>`,
      ),
      column<StreamRule>('Tag', ({ tag }) => tag !== null && isolated(tag)),
      column<StreamRule>('Id', ({ id }) => html`<code>${id}</code>`),
      column<StreamRule>(
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
${isWrong && html`<div id="problem" role="alert">${refused}</div>`}
<div class="row"><button class="main" name="action" value="add">Add</button></div></form>${messageAt('add')}</section>
<section class="card" aria-label="Rules">${rules.length === 0 ? html`<p class="empty">The stream has no rules.</p>` : list}</section>`,
  };
}

async function change(
  visit: PageRequest,
  form: URLSearchParams,
): Promise<FormRedirect | PageContent> {
  const { rules, ruleConnections } = visit.parts;
  await rules.open();
  try {
    checkIdle(ruleConnections());
  } catch (error) {
    if (!(error instanceof HttpProblem)) throw error;
    return said({ tone: 'bad', text: error.message });
  }
  if (form.get('action') === 'delete') {
    const { deleted } = await rules.delete({ ids: [form.get('id') ?? ''] });
    return said(
      deleted === 0
        ? { tone: 'bad', text: 'The stream no longer has this rule.' }
        : { tone: 'good', text: 'The rule is deleted.' },
    );
  }
  const value = (form.get('value') ?? '').trim();
  const tag = form.get('tag')?.trim() || null;
  const problems = checkRule(value, { product: 'replay', tag }).problems.filter(
    ({ severity }) => severity === 'error',
  );
  if (problems.length > 0) return shown(visit, problemsView(value, problems), form);
  const [outcome] = await rules.add([{ value, tag }]);
  return said({
    tone: outcome?.done ? 'good' : 'bad',
    text: outcome?.message ?? 'The rule is added.',
  });
}

const said = (message: Message): FormRedirect => ({ location: `${STREAM_RULES}#add`, message });
