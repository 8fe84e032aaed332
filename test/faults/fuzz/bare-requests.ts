import net from 'node:net';

/** For a service that does not answer: the request is whole, so each is answered. */
const LIMIT_MS = 15_000;

export interface Answer {
  /** 0 if the connection was closed without one. */
  readonly status: number;
  /** Latin-1. */
  readonly body: string;
}

/** The answer to the lines of a request, sent as they are: no client changes an address or a header. */
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
    // A server that refuses a request may reset the connection behind its answer.
    socket.on('error', () => {});
    socket.on('close', () => {
      const [, status = '0'] = /^HTTP\/1\.1 (\d{3}) /.exec(text) ?? [];
      resolve({ status: Number(status), body: text.slice(text.indexOf('\r\n\r\n') + 4) });
    });
    socket.write(lines.join('\r\n'), 'latin1');
  });
}

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
