import net from 'node:net';

/**
 * The time limit for an answer. It is reached only if the service does not answer. Each request is
 * complete, so the service must answer it.
 */
const LIMIT_MS = 15_000;

export interface Answer {
  /** The status, or 0 if the connection was closed without a response. */
  readonly status: number;
  /** The body, decoded as Latin-1. */
  readonly body: string;
}

/**
 * Sends the lines of a request unchanged and returns the response. Does not use an HTTP client,
 * because a client could change the address or a header.
 */
export function answerOf(port: number, lines: readonly string[]): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const socket = net.connect({ port, host: '127.0.0.1' });
    let text = '';
    socket.setTimeout(LIMIT_MS, () => {
      socket.destroy();
      reject(new Error(`No answer within ${LIMIT_MS / 1000} s`));
    });
    socket.setEncoding('latin1');
    socket.on('data', (chunk: string) => {
      text += chunk;
    });
    // A server that refuses a request may reset the connection after its response.
    socket.on('error', () => {});
    socket.on('close', () => {
      const [, status = '0'] = /^HTTP\/1\.1 (\d{3}) /.exec(text) ?? [];
      resolve({ status: Number(status), body: text.slice(text.indexOf('\r\n\r\n') + 4) });
    });
    socket.write(lines.join('\r\n'), 'latin1');
  });
}

/**
 * Returns the path of an address, followed by other paths that Node's `URL` may read from it: `URL`
 * keeps a `..` after a segment such as `.x`.
 */
export function pathsOf(target: string): readonly [string, ...string[]] {
  if (!target.startsWith('/')) return [''];
  const path = (target.split(/[?#]/)[0] ?? '').replaceAll('\t', '').replaceAll('\\', '/');
  const normal = normalized(path);
  return /\/\.+[^./]/.test(path) ? [normal, path] : [normal];
}

/** Normalises a path as browsers do: removes `.` and `..`, plain or encoded. */
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
