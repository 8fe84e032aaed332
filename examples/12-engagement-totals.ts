// Signs a user in and authorizes the application. Then prints the totals of the posts that a search
// finds.
import { account, collect, engagement, map, pipeline, search, stdout, users } from 'millrace';
import { createService } from 'millrace/service';

const service = createService({ postsPerMinute: 2, stateFolder: 'out/engagement/service' });
const addresses = await service.start();
const acme = account(addresses);

/**
 * Does what a person would do in a browser. Here, the author of the newest post on coffee consents.
 */
async function consent(address: string) {
  const newest = search(acme, { product: '30day', query: 'coffee -is:retweet', limit: 1 });
  const [post] = await pipeline(newest, collect());
  const user = await service.oauth.signIn(post?.author.handle ?? '', addresses.password);
  const requestToken = new URL(address).searchParams.get('oauth_token') ?? '';
  const approval = user && (await service.oauth.approve(requestToken, user));
  if (approval && 'redirect' in approval) await fetch(approval.redirect);
}

// For the real service, omit `open`. The URL is then printed, to be opened in a browser.
const token = await users.signIn(acme, { store: 'out/engagement/token.json', open: consent });
console.error(`${token.screenName} authorized the application; the token prints as ${token.token}`);
const query = `from:${token.screenName} -is:retweet`;
await pipeline(
  search(acme, { product: '30day', query, limit: 20 }),
  engagement(acme, { token, counts: 'number' }),
  map(({ activity, totals, errors }) => ({ id: activity.id, ...totals, errors })),
  stdout(),
);
await service.stop();
