import type { ServiceContext } from '../context.js';
import type { Route } from '../http/router.js';
import { engagementRoutes } from './engagement-routes.js';
import { OAuthProvider } from './oauth-provider.js';
import { oauthRoutes } from './oauth-routes.js';
import { SignedRequests } from './signed-requests.js';

/** The endpoints of applications and users: sign-in and engagement totals. */
export class OAuthEndpoints {
  readonly provider: OAuthProvider;
  readonly routes: readonly Route[];
  readonly #signed: SignedRequests;
  #opened: Promise<void> | undefined;

  constructor(context: ServiceContext) {
    const { settings, clock, quotas } = context;
    this.provider = new OAuthProvider({
      settings,
      clock,
      signIns: quotas.window('signInRate'),
      archive: () => context.archive(),
    });
    this.#signed = new SignedRequests(
      this.provider,
      clock,
      settings.limits.signedWithinMs,
      settings.stateFolder,
    );
    const routes = [
      ...oauthRoutes(context, this.provider, this.#signed),
      ...engagementRoutes(context, this.provider, this.#signed),
    ];
    this.routes = routes.map(route => ({
      ...route,
      handle: async incoming => {
        await this.open();
        return route.handle(incoming);
      },
    }));
  }

  /**
   * Loads stored grants and nonces. Later calls return the same promise.
   *
   * @throws StorageError if they cannot be read.
   */
  open(): Promise<void> {
    this.#opened ??= this.#open();
    return this.#opened;
  }

  async close(): Promise<void> {
    await this.#opened?.catch(() => {});
    this.#opened = undefined;
    await this.provider.close();
  }

  async #open(): Promise<void> {
    await this.provider.open();
    await this.#signed.open();
  }
}
