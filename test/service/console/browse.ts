import { local } from '../local-service.js';

export interface Page {
  readonly status: number;
  readonly headers: Headers;
  /** The HTML of the page, without the element of the console's own script. */
  readonly text: string;
  readonly script: string | undefined;
  readonly location: string | null;
}

/**
 * A simple browser. It keeps cookies, does not follow redirects, and submits the forms of the last
 * page.
 */
export interface Browser {
  readonly cookies: Map<string, string>;
  get(address: string, headers?: Record<string, string>): Promise<Page>;
  /** Submits a form. Sends the form token of the last page, unless another token is given. */
  post(
    address: string,
    fields?: Record<string, string>,
    headers?: Record<string, string>,
  ): Promise<Page>;
  signIn(password?: string): Promise<Page>;
  csrf(): string;
}

export function browse(baseUrl: string): Browser {
  const cookies = new Map<string, string>();
  let last = '';

  const ask = async (address: string, init: RequestInit): Promise<Page> => {
    const headers = new Headers(init.headers);
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    if (cookie !== '' && !headers.has('cookie')) headers.set('cookie', cookie);
    const url = new URL(address, baseUrl);
    const response = await fetch(url, { ...init, headers, redirect: 'manual' });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (/max-age=0/i.test(line)) cookies.delete(name);
      else cookies.set(name, value);
    }
    const whole = await response.text();
    const text = whole.replace(OWN_SCRIPT, '');
    const [, script] = OWN_SCRIPT.exec(whole) ?? [];
    if (text.includes('name="csrf"')) last = text;
    const { status } = response;
    const location = response.headers.get('location');
    return { status, headers: response.headers, text, script, location };
  };
  const csrf = () => /name="csrf" value="([^"]*)"/.exec(last)?.[1] ?? '';
  const get: Browser['get'] = (address, headers = {}) => ask(address, { headers });
  const post: Browser['post'] = (address, fields = {}, headers = {}) =>
    ask(address, {
      method: 'POST',
      headers,
      body: new URLSearchParams({ csrf: csrf(), ...fields }),
    });
  return {
    cookies,
    get,
    post,
    csrf,
    async signIn(password = 'local-service') {
      await get('/console/sign-in');
      return post('/console/sign-in', { email: 'dev@example.com', password });
    },
  };
}

const OWN_SCRIPT = /<script src="(\/pages\/script\.js\?v=[0-9a-f]{12})" defer><\/script>/;

export function readable(page: string): string {
  return page
    .replaceAll('<wbr>', '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&quot;/g, '"')
    .replace(/&#39;/g, "'")
    .replace(/&#96;/g, '`')
    .replace(/&amp;/g, '&')
    .replace(/\s+/g, ' ');
}

export async function signedIn(...parameters: Parameters<typeof local>) {
  const there = await local(...parameters);
  const browser = browse(there.baseUrl);
  await browser.signIn();
  return { ...there, browser };
}

export const HOSTILE = `</title><script>alert(1)</script>"'><img src=x onerror=alert(2)>\u202E&amp;`;
