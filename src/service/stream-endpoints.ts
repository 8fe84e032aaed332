import type { Compliance } from './compliance/compliance.js';
import { complianceRoutes } from './compliance/compliance-routes.js';
import type { ServiceContext } from './context.js';
import type { Route } from './http/router.js';
import { ReplayLog } from './replay/replay-log.js';
import { replayRoutes } from './replay/replay-routes.js';
import { rulesRoutes } from './replay/rules-routes.js';
import { StreamRules } from './replay/stream-rules.js';

/** The endpoints of streams: replay, its rules, and compliance. */
export class StreamEndpoints {
  readonly compliance: Compliance;
  readonly routes: readonly Route[];
  readonly replays: ReplayLog;
  readonly #rules: StreamRules;

  constructor(context: ServiceContext, compliance: Compliance) {
    this.compliance = compliance;
    this.#rules = new StreamRules(context.settings.stateFolder, context.clock);
    this.replays = new ReplayLog(() => context.clock.now());
    const connected = new Set<object>();
    this.routes = [
      ...replayRoutes(context, { rules: this.#rules, compliance, connected, log: this.replays }),
      ...rulesRoutes(context, this.#rules, () => connected.size),
      ...complianceRoutes(context, compliance),
    ];
  }

  /** @throws StorageError when rules cannot be read. */
  open(): Promise<void> {
    return this.#rules.open();
  }

  async close(): Promise<void> {
    await this.compliance.close();
    await this.#rules.close();
  }
}
