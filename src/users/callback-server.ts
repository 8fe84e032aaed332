import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { OptionError, SignInError } from '../base/errors.js';

const PAGE_HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Cache-Control': 'no-store',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  Connection: 'close',
};

type Verdict = readonly [status: number, text: string, decide?: () => void];

/**
 * A web server for a single request, which is the callback of a sign-in. Accepts one request that has the
 * right request token, and refuses all other requests.
 */
export class CallbackServer {
  readonly #server = createServer((request, response) => this.#respond(request, response));
  readonly #path: string;
  #token: string | undefined;
  #decided = false;
  #grant: (verifier: string) => void = () => {};
  #deny: (error: SignInError) => void = () => {};
  readonly #verifier: Promise<string>;

  constructor(path: string) {
    this.#path = path;
    this.#verifier = new Promise((resolve, reject) => {
      this.#grant = resolve;
      this.#deny = reject;
    });
    // The promise may reject before it is awaited. This handler prevents an unhandled rejection.
    this.#verifier.catch(() => {});
  }

  /**
   * Starts the server.
   * @param port The port to listen on; 0 for any free port.
   * @returns The URL of the callback. Only this machine can reach it.
   */
  async listen(port: number): Promise<string> {
    await once(this.#server.listen(port, '127.0.0.1'), 'listening').catch(cause => {
      throw new OptionError(
        'callbackPort',
        `Cannot wait for the browser on port ${port} of 127.0.0.1: ${cause.message}. Pass another \`callbackPort\``,
        { cause },
      );
    });
    const address = this.#server.address() as AddressInfo;
    return `http://127.0.0.1:${address.port}${this.#path}`;
  }

  /**
   * Resolves to the verifier that the callback sends together with this request token.
   *
   * @throws SignInError If the user denies access.
   */
  verifierOf(token: string): Promise<string> {
    this.#token = token;
    return this.#verifier;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #respond(request: IncomingMessage, response: ServerResponse): void {
    const [status, text, decide] = this.#verdict(request);
    // The caller closes the server once `decide` is called. This therefore calls `decide` only after the
    // whole page was sent.
    if (decide !== undefined) response.once('close', decide);
    response.writeHead(status, PAGE_HEADERS);
    response.end(page(text));
  }

  #verdict({ method, headers, url = '' }: IncomingMessage): Verdict {
    const { port } = this.#server.address() as AddressInfo;
    const target = `http://127.0.0.1:${port}${url}`;
    // Other host names are refused. Otherwise, a web page could reach this port through a host name that its
    // owner points to 127.0.0.1 (DNS rebinding).
    if (headers.host !== `127.0.0.1:${port}` || !URL.canParse(target))
      return [400, 'This is not the address that the sign-in comes back to.'];
    const { pathname, searchParams } = new URL(target);
    if (pathname !== this.#path) return [404, 'There is nothing here.'];
    if (method !== 'GET') return [405, 'Only a browser comes here.'];
    const only = (name: string) => {
      const values = searchParams.getAll(name);
      return values.length === 1 ? values[0] : undefined;
    };
    const verifier = only('oauth_verifier') ?? '';
    const isDenied = only('denied') === this.#token;
    const isGranted = only('oauth_token') === this.#token && verifier !== '';
    if (this.#token === undefined || !(isDenied || isGranted))
      return [400, 'This belongs to another sign-in, or to none.'];
    if (this.#decided) return [410, 'This sign-in is over.'];
    this.#decided = true;
    if (isDenied) {
      const text = 'You have not authorized the application. You can close this page.';
      return [200, text, () => this.#deny(denied())];
    }
    const text = 'You can close this page and go back to the application.';
    return [200, text, () => this.#grant(verifier)];
  }
}

function page(text: string): string {
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Sign-in</title><p>${text}</p></html>
`;
}

function denied(): SignInError {
  return new SignInError(
    'The user did not authorize the application: no token was saved. Start the sign-in again once they agree',
    { failure: 'denied' },
  );
}
