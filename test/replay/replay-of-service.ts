import { type Account, type AccountOptions, account } from 'millrace';
import { createService, type Service, type ServiceOptions } from 'millrace/service';
import { afterEach, beforeEach } from 'vitest';
import { temporaryFolder } from '../temporary-folder.js';
import { timingOf } from './service-timing.js';

export let service: Service;

export let folder: string;

let addresses: Awaited<ReturnType<Service['start']>>;

/** Creates an account whose waits advance the service's clock. */
export function acme(options: Partial<AccountOptions> = {}): Account {
  return account({ ...addresses, timing: timingOf(service), ...options });
}

export async function startService(options: Partial<ServiceOptions>): Promise<void> {
  service = createService({ limits: 'relaxed', ...options });
  addresses = await service.start(0);
}

export function setUpServiceReplay(options: Partial<ServiceOptions>): void {
  beforeEach(async () => {
    await startService({ heartbeatMs: 50, ...options });
    service.clock.freeze();
    folder = await temporaryFolder();
  });
  afterEach(() => service.stop());
}
