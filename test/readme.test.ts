import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { SETTINGS } from '../src/http/settings.js';
import { checkRule } from '../src/rules/language/check-rule.js';
import { renderProblem } from '../src/rules/language/render-problem.js';
import { operators } from '../src/rules/operators/operators.js';

const root = path.resolve(import.meta.dirname, '..');
const readme = readFileSync(path.join(root, 'README.md'), 'utf8');
const exampleNames = readdirSync(path.join(root, 'examples'));
const examples = exampleNames.map(name => readFileSync(path.join(root, 'examples', name), 'utf8'));

function blocks(language: string): string[] {
  return [...readme.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, 'gms'))].map(
    match => match[1] as string,
  );
}

describe('the README', () => {
  it('shows only code that stands in an example', () => {
    const code = blocks('ts');
    expect(code.length).toBeGreaterThan(0);
    for (const block of code) expect(examples.some(example => example.includes(block))).toBe(true);
  });

  it('names every example, and none that is not there', () => {
    const named = [...readme.matchAll(/examples\/(\d\d-[\w-]+\.ts)/g)].map(match => match[1]);
    expect([...new Set(named)].toSorted()).toEqual(exampleNames.toSorted());
  });

  it('has every setting of an account with its environment variable', () => {
    for (const [name, { env }] of Object.entries(SETTINGS))
      expect(readme).toContain(`| \`${name}\` | \`${env}\` |`);
  });

  it('has no cell that is empty by mistake', () => {
    expect(readme).not.toContain('undefined');
    expect(readme).not.toContain('<!--');
  });

  it('has every operator of the rule language', () => {
    for (const [name, { about, aliases }] of Object.entries(operators)) {
      const row = readme.split('\n').find(line => line.startsWith(`| \`${name}:\` |`));
      expect(row).toContain(about);
      for (const alias of aliases) expect(row).toContain(`\`${alias}:\``);
    }
  });

  it('shows the diagnostics that a rule really gets', () => {
    const rule = 'music has:vidoes';
    const [problem] = checkRule(rule, { product: 'search' }).problems;
    expect(problem).toBeDefined();
    expect(blocks('text')).toContain(`${renderProblem(rule, problem as never)}\n`);
  });
});
