/** The path of an address, and what Node's `URL` may take for it: it leaves `..` behind a segment such as `.x`. */
export function pathsOf(target: string): readonly [string, ...string[]] {
  if (!target.startsWith('/')) return [''];
  const path = (target.split(/[?#]/)[0] ?? '').replaceAll('\t', '').replaceAll('\\', '/');
  const normal = normalized(path);
  return /\/\.+[^./]/.test(path) ? [normal, path] : [normal];
}

/** As browsers take it: without `.` and `..`, plain or encoded. */
function normalized(path: string): string {
  const kept: string[] = [];
  const segments = path.slice(1).split('/');
  for (const [index, segment] of segments.entries()) {
    const dots = segment.replace(/%2e/gi, '.');
    const isLast = index === segments.length - 1;
    if (dots === '..') kept.pop();
    else if (dots !== '.') kept.push(segment);
    if (isLast && (dots === '.' || dots === '..')) kept.push('');
  }
  return `/${kept.join('/')}`;
}
