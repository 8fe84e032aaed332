// A web application that a user signs in to and authorizes. It shows how often the user's newest
// posts were liked, and stores tokens encrypted. This script also simulates the browser and stops
// the server at the end.
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { account, collect, pipeline, Secret, search, users } from 'millrace';
import { createService } from 'millrace/service';

const service = createService({ postsPerMinute: 2 });
const addresses = await service.start();
const acme = account(addresses); // for the real service: account()

const key = randomBytes(32); // for the real service: a key from a secret store, not from the code or the database
const stored = new Map<string, Buffer>(); // user id → encrypted token; in your application, a table of the database

function seal(text: string): Buffer {
  const nonce = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  return Buffer.concat([nonce, cipher.update(text), cipher.final(), cipher.getAuthTag()]);
}

function unseal(sealed: Buffer): string {
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, 12));
  decipher.setAuthTag(sealed.subarray(-16));
  return Buffer.concat([decipher.update(sealed.subarray(12, -16)), decipher.final()]).toString();
}

function keep({ token, secret, userId }: users.AccessToken): void {
  stored.set(userId, seal(JSON.stringify([token.reveal(), secret.reveal()])));
}

function tokenOf(userId: string): users.UserToken | undefined {
  const sealed = stored.get(userId);
  if (sealed === undefined) return undefined;
  const [token, secret] = JSON.parse(unseal(sealed));
  return { token: new Secret(token), secret: new Secret(secret) };
}

interface Session {
  signIn?: users.RequestToken | undefined; // while a sign-in is in progress
  user?: { readonly id: string; readonly name: string };
}
const sessions = new Map<string, Session>();
const cookieOf = ({ headers }: IncomingMessage) => /\bsession=([\w-]+)/.exec(headers.cookie ?? '')?.[1];

const server = createServer(async (request, response) => {
  const url = new URL(request.url ?? '/', origin);
  let cookie = cookieOf(request);
  if (cookie === undefined || !sessions.has(cookie)) cookie = randomBytes(32).toString('base64url');
  const session = sessions.get(cookie) ?? {};
  sessions.set(cookie, session);
  response.setHeader('Set-Cookie', `session=${cookie}; HttpOnly; SameSite=Lax; Path=/`); // add Secure on https
  try {
    if (url.pathname === '/sign-in') {
      session.signIn = await users.requestToken(acme, { callback: `${origin}/signed-in` });
      response.writeHead(302, { Location: users.signInAddress(acme, session.signIn) }).end();
    } else if (url.pathname === '/signed-in') {
      const { signIn: token } = session;
      session.signIn = undefined; // a request token works only once
      const verifier = url.searchParams.get('oauth_verifier');
      // Only the browser that started the sign-in may complete it, because anyone can send a link
      // to this address.
      if (token === undefined || url.searchParams.get('oauth_token') !== token.token || verifier === null)
        return response.writeHead(400).end('Nobody signed in. Try again.');
      const access = await users.accessToken(acme, { token, verifier });
      keep(access);
      session.user = { id: access.userId, name: access.screenName };
      response.writeHead(302, { Location: '/' }).end();
    } else {
      const token = session.user && tokenOf(session.user.id);
      if (session.user === undefined || token === undefined) return response.end('Please go to /sign-in');
      const query = `from:${session.user.name} -is:retweet`;
      const posts = await pipeline(search(acme, { product: '30day', query, limit: 10 }), collect());
      const ids = posts.map(post => post.id);
      const { totals } = await users.engagementTotals(acme, { token, ids, counts: 'number' });
      response.end(posts.map(({ id, text }) => `${totals.byPost[id]?.favorites ?? 0} likes: ${text}`).join('\n'));
    }
  } catch (error) {
    console.error(error); // the error contains no secret
    response.writeHead(502).end('Something went wrong. Try again.');
  }
});
await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
console.log(`The application listens at ${origin}`);

// Simulates the browser of a user, the author of the newest post on coffee, and then stops the
// server.
const [post] = await pipeline(search(acme, { product: '30day', query: 'coffee -is:retweet', limit: 1 }), collect());
const first = await fetch(`${origin}/sign-in`, { redirect: 'manual' });
const headers = { Cookie: String(first.headers.get('set-cookie')) };
const requestToken = new URL(String(first.headers.get('location'))).searchParams.get('oauth_token') ?? '';
const user = await service.oauth.signIn(post?.author.handle ?? '', addresses.password);
const approval = user && (await service.oauth.approve(requestToken, user));
const stranger = approval && 'redirect' in approval ? await fetch(approval.redirect) : undefined;
console.log(`Another browser: ${stranger?.status} ${await stranger?.text()}`);
if (approval && 'redirect' in approval) await fetch(approval.redirect, { headers, redirect: 'manual' });
console.log(await (await fetch(origin, { headers })).text());
server.close();
server.closeAllConnections();
await service.stop();
