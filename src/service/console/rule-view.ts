import { applySuggestions } from '../../rules/language/apply-suggestions.js';
import type { Problem } from '../../rules/language/problem.js';
import { renderProblem } from '../../rules/language/render-problem.js';
import { type Html, html, isolated } from './html/html.js';
import { column, type HtmlColumn } from './html/table.js';

/**
 * Renders the problems of a rule, each with a caret below the part of the rule that it concerns.
 *
 * @param withRule Returns the address of the same page with another rule. If given, links apply suggestions.
 */
export function problemsView(
  rule: string,
  problems: readonly Problem[],
  withRule?: (rule: string) => string,
): Html {
  const apply = (some: readonly Problem[], words: string) => {
    const changed = applySuggestions(rule, some);
    return (
      withRule && html`<p><a href="${withRule(changed)}">${words}</a>: <code>${changed}</code></p>`
    );
  };
  const suggesting = problems.filter(({ suggestion }) => suggestion !== undefined);
  return html`<ul class="stack">${problems.map(
    problem =>
      html`<li class="stack">${problemView(rule, problem)}${problem.suggestion && apply([problem], 'Apply')}</li>`,
  )}</ul>${suggesting.length > 1 && apply(suggesting, `Apply all ${suggesting.length}`)}`;
}

/**
 * Renders a problem: its sentences, and between them the rule with its carets, in lines that must not wrap.
 */
function problemView(rule: string, problem: Problem): Html {
  const [what, ...rows] = renderProblem(rule, problem).split('\n');
  const note =
    rows.at(-1)?.trimStart().startsWith('= ') === true ? rows.pop()?.trim().slice(2) : undefined;
  return html`<div class="problem ${problem.severity === 'error' ? 'bad' : 'warn'}"><p>${what}</p>
<pre>${rows.join('\n')}</pre>${note !== undefined && html`<p>${note}</p>`}</div>`;
}

export const RULE_COLUMNS: readonly HtmlColumn<{
  readonly value: string;
  readonly tag: string | null;
  readonly id: bigint | string;
}>[] = [
  column.header('Rule', ({ value }) => html`<code class="long">${isolated(value)}</code>`),
  column.text('Tag', ({ tag }) => tag !== null && html`<span class="word">${isolated(tag)}</span>`),
  column.text('Id', ({ id }) => html`<code class="word">${id}</code>`),
];
