import { applySuggestions } from '../../rules/language/apply-suggestions.js';
import type { Problem } from '../../rules/language/problem.js';
import { renderProblem } from '../../rules/language/render-problem.js';
import { type Html, html } from './html/html.js';

/**
 * The problems of a rule, each with a caret below it.
 *
 * @param withRule The address of the same page with another rule: where it is given, links apply suggestions.
 */
export function problemsView(
  rule: string,
  problems: readonly Problem[],
  withRule?: (rule: string) => string,
): Html {
  const apply = (some: readonly Problem[], words: string) =>
    withRule && html`<a href="${withRule(applySuggestions(rule, some))}">${words}</a>`;
  const suggesting = problems.filter(({ suggestion }) => suggestion !== undefined);
  return html`<ul class="stack">${problems.map(
    problem => html`<li><pre class="problem ${problem.severity === 'error' ? 'bad' : 'warn'}">${renderProblem(rule, problem)}</pre>
${problem.suggestion && apply([problem], `Apply: ${problem.suggestion.label}`)}</li>`,
  )}</ul>${suggesting.length > 1 && html`<p>${apply(suggesting, `Apply all ${suggesting.length}`)}</p>`}`;
}
