// `npm run messages` prints every message in the sources as one list: errors, progress, help, and
// pages of the console. A person can read it from top to bottom.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';
import { root } from './pages.js';

function textOf(node: ts.Node): string | undefined {
  if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) return node.text;
  if (!ts.isTemplateExpression(node)) return undefined;
  return node.head.text + node.templateSpans.map(({ literal }) => `…${literal.text}`).join('');
}

/** Returns the messages in a node. A message is a string of at least three words. */
function messagesIn(node: ts.Node): readonly string[] {
  const text = textOf(node)?.replaceAll(/\s+/g, ' ').trim();
  const own = text !== undefined && /\p{L} \S+ \p{L}/u.test(text) ? [text] : [];
  const inner: string[] = [];
  ts.forEachChild(node, child => {
    inner.push(...messagesIn(child));
  });
  return [...own, ...inner];
}

const names = readdirSync(path.join(root, 'src'), { recursive: true, encoding: 'utf8' });
for (const name of names.filter(name => name.endsWith('.ts')).toSorted()) {
  const text = readFileSync(path.join(root, 'src', name), 'utf8');
  const messages = messagesIn(ts.createSourceFile(name, text, ts.ScriptTarget.Latest));
  if (messages.length > 0) console.log(`\n${name}\n${messages.map(one => `  ${one}`).join('\n')}`);
}
