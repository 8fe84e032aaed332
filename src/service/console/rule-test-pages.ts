import { DataError, OptionError } from '../../base/errors.js';
import type { Activity } from '../../post/activity.js';
import { checkRule } from '../../rules/language/check-rule.js';
import { explainMatch, renderExplanation } from '../../rules/match/explain-match.js';
import { RULE_PRODUCTS, type RuleProduct } from '../../rules/post/dialect.js';
import { Posts } from '../posts/posts.js';
import { readGiven, splitPosts } from '../posts/read-given.js';
import type { ConsolePage, PageContent, Visit } from './console-page.js';
import { RULE_TEST, tabs } from './explore-pages.js';
import { type Html, html } from './html/html.js';
import {
  csrfField,
  inWords,
  messageBox,
  options,
  printCount,
  renderState,
} from './html/page-parts.js';
import { postView } from './post-view.js';
import { problemsView } from './rule-view.js';

/** The page that tests which rules match a post, and why. It stores nothing. */
export const ruleTestPages: readonly ConsolePage[] = [
  {
    pattern: RULE_TEST,
    section: 'explore',
    async show(visit, typed) {
      if (typed !== undefined) return shown(visit, testOf(typed));
      const { rules } = visit.context;
      await rules.open();
      const values = rules.all().slice(0, MAX_OFFERED);
      const offered = values.map(({ value }) => value).join('\n');
      return shown(visit, { rules: offered, post: '', product: 'replay' });
    },
    act(visit, form) {
      const test = testOf(form);
      try {
        return shown(visit, test, resultOf(test, visit));
      } catch (error) {
        if (!(error instanceof OptionError || error instanceof DataError)) throw error;
        return { ...shown(visit, { ...test, problem: inWords(error.message) }), status: 422 };
      }
    },
  },
];

/** When the page opens, its form contains up to this many rules of the replay stream. */
const MAX_OFFERED = 20;

interface RuleTest {
  /** The rules, one per line. */
  readonly rules: string;
  readonly post: string;
  readonly product: RuleProduct;
  readonly problem?: string;
}

function testOf(form: URLSearchParams): RuleTest {
  const product = RULE_PRODUCTS.find(name => name === form.get('product')) ?? 'replay';
  return { rules: form.get('rules') ?? '', post: form.get('post') ?? '', product };
}

function shown(
  { csrf }: Visit,
  { rules, post, product, problem }: RuleTest,
  result?: Html,
): PageContent {
  const area = (name: string, label: string, value: string, hint: string, wrong?: string) =>
    html`<div class="field"><label for="${name}">${label}</label><textarea id="${name}" name="${name}" rows="5" spellcheck="false" required aria-describedby="${name}-hint${wrong !== undefined && ' problem'}"${wrong !== undefined && html` aria-invalid="true" autofocus`}>${value}</textarea><span class="hint" id="${name}-hint">${hint}</span>${wrong !== undefined && messageBox({ tone: 'bad', text: wrong }, 'problem')}</div>`;
  return {
    title: 'Rules for a post',
    lead: 'Which rules match a post, and why.',
    body: html`${tabs(RULE_TEST)}<section class="card" aria-label="Test"><form method="post" action="${RULE_TEST}">${csrfField(csrf)}
${area('post', 'Post', post, 'Its JSON in either format, some fields of one, or only its text', problem)}
${area('rules', 'Rules', rules, 'One a line')}
<div class="fields"><div class="field"><label for="product">Product</label><select id="product" name="product">${options(RULE_PRODUCTS, product)}</select></div></div>
<div class="row"><button class="main">Test</button></div></form></section>${result}`,
  };
}

/** @throws OptionError or DataError for an input that is not a post. */
function resultOf({ rules, post, product }: RuleTest, visit: Visit): Html {
  const activity = activityOf(post, visit);
  const results = rules
    .split(/\r?\n/)
    .map(rule => rule.trim())
    .filter(rule => rule !== '')
    .map(rule => explained(rule, activity, product));
  const count = results.filter(({ matched }) => matched).length;
  return html`<section class="card" aria-labelledby="result"><h2 id="result">${count} of ${printCount(results.length, 'rule')} ${count === 1 ? 'matches' : 'match'}</h2>
<ul class="stack">${results.map(({ view }) => html`<li class="stack">${view}</li>`)}</ul></section>
<section class="card" aria-label="The post">${postView(activity)}</section>`;
}

function explained(rule: string, activity: Activity, product: RuleProduct) {
  const { tree, problems } = checkRule(rule, { product });
  if (tree === undefined) {
    const view = html`<p>${renderState('not a rule', 'bad')}</p>${problemsView(rule, problems)}`;
    return { matched: false, view };
  }
  const explanation = explainMatch(rule, activity, { product });
  const { matched } = explanation;
  const state = matched ? renderState('matches', 'good') : renderState('does not match', 'idle');
  const view = html`<p>${state}</p><pre class="problem">${renderExplanation(explanation)}</pre>`;
  return { matched, view };
}

/**
 * Returns the post that the visitor has typed, as JSON or as plain text. Missing fields are added, as for the
 * option `posts`.
 */
function activityOf(text: string, { context }: Visit): Activity {
  const isJson = /^\s*[{[]/.test(text);
  const posts = isJson ? splitPosts(Buffer.from(text)) : [JSON.stringify({ text: text.trim() })];
  if (posts.length > 1)
    throw new OptionError('post', `One post is tested, and these are ${posts.length}`);
  const json = posts[0] ?? '{}';
  const [given] = readGiven(json);
  if (given?.kind === 'exact') return given.activity;
  const [completed] = new Posts([], 'original', context).add(json);
  if (completed === undefined) throw new OptionError('post', 'There is no post');
  return completed;
}
