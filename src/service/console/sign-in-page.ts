import { MINUTE, SECOND } from '../../time.js';
import { isLogin } from '../http/check-access.js';
import { HttpProblem } from '../http/http-problem.js';
import type { Handler } from '../http/router.js';
import type { Settings } from '../service-options.js';
import { type Html, html } from './html/html.js';
import { HOME, pageResponse, plainPage, seeOther } from './html/page.js';
import { csrfField, signInFields } from './html/page-parts.js';
import type { Sessions } from './html/sessions.js';

export const SIGN_IN = '/console/sign-in';

/** What the sign-in of the console uses. */
export interface SignInParts {
  readonly settings: Settings;
  readonly sessions: Sessions<string>;
  readonly attempts: SignInAttempts;
}

/** Shows the form. */
export const showSignIn: Handler<SignInParts> = ({ request, url }, { sessions }) => {
  const { user, csrf, headers } = sessions.visitor(request);
  const next = consoleAddress(url.searchParams.get('next'));
  if (user !== undefined) return seeOther(next);
  return pageResponse(plainPage({ title: 'Sign in', body: signInForm({ csrf, next }) }), {
    headers,
  });
};

/** Checks what the form sends. */
export const signIn: Handler<SignInParts> = async ({ request }, parts) => {
  const { settings, sessions, attempts } = parts;
  const form = await sessions.readForm(request);
  attempts.check();
  const next = consoleAddress(form.get('next'));
  const login = { email: form.get('email') ?? '', password: form.get('password') ?? '' };
  if (isLogin(login, settings)) return seeOther(next, sessions.signIn(request, settings.email));
  attempts.failed();
  const problem = 'That is not the email and password of this account.';
  const { csrf, headers } = sessions.visitor(request);
  const body = signInForm({ csrf, next, email: login.email, problem });
  return pageResponse(plainPage({ title: 'Sign in', body }), { status: 401, headers });
};

interface SignInForm {
  readonly csrf: string;
  /** The page to show afterwards. */
  readonly next: string;
  /** The e-mail of a failed attempt. */
  readonly email?: string | undefined;
  readonly problem?: string | undefined;
}

function signInForm({ csrf, next, email = '', problem }: SignInForm): Html {
  const name = ['email', 'Email', html` inputmode="email"`] as const;
  return html`<form class="card" method="post" action="${SIGN_IN}">
${csrfField(csrf)}<input type="hidden" name="next" value="${next}">
${signInFields(name, email, problem)}
<button class="main">Sign in</button>
<p class="hint">The login that your programs use. The service printed it when it started.</p>
</form>`;
}

/** Only pages of the console: a link to the sign-in must not redirect to another site. */
function consoleAddress(next: string | null): string {
  if (next === null || !/^\/console(?:[/?][\w/?=&%.:-]*)?$/.test(next)) return HOME;
  // Browsers resolve `..`, also where it is percent-encoded. `URL` of Node does not do so in `/.x/..`.
  const [path = ''] = next.split('?');
  return /\/(\.|%2e){1,2}(\/|$)/i.test(path) ? HOME : next;
}

/** Wrong passwords in a minute after which further attempts are refused. */
const MAX_FAILURES = 10;

/** Slows down guessing of the password. In real time: moving the clock must not help. */
export class SignInAttempts {
  #failures: number[] = [];

  /** @throws HttpProblem 429 with `Retry-After` after too many failures. */
  check(): void {
    const now = Date.now();
    this.#failures = this.#failures.filter(time => time > now - MINUTE);
    const first = this.#failures.at(-MAX_FAILURES);
    if (first === undefined) return;
    const seconds = Math.max(1, Math.ceil((first + MINUTE - now) / SECOND));
    throw new HttpProblem(429, `Too many sign-ins failed. Try again in ${seconds} s.`, {
      'Retry-After': String(seconds),
    });
  }

  failed(): void {
    this.#failures.push(Date.now());
  }
}
