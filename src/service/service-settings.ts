import { type Checked, checkOptions } from '../check.js';
import { type Limits, limitsOf } from './http/service-limits.js';
import { dwellOf, type JobDwell } from './jobs/job-dwell.js';
import { SERVICE_OPTIONS, type ServiceOptions } from './service-options.js';

/** The options of the service, checked and complete. */
export interface Settings
  extends Omit<
    Checked<ServiceOptions, typeof SERVICE_OPTIONS>,
    'limits' | 'perMinuteLimit' | 'jobDwellMs' | 'userPassword' | 'onError'
  > {
  readonly limits: Limits;
  readonly jobDwellMs: JobDwell;
  readonly userPassword: string;
  readonly onError: (error: unknown) => void;
}

/** @throws OptionError */
export function settingsOf(options: ServiceOptions): Settings {
  const checked = checkOptions('createService', SERVICE_OPTIONS, options);
  const { limits: given = {}, perMinuteLimit: requests, jobDwellMs = {}, ...rest } = checked;
  const limits = limitsOf(given);
  return {
    ...rest,
    limits:
      requests === undefined
        ? limits
        : { ...limits, searchPerMinuteRate: { ...limits.searchPerMinuteRate, requests } },
    jobDwellMs: dwellOf(jobDwellMs),
    userPassword: rest.userPassword ?? rest.password,
    onError: error => void report(error, rest.onError),
  };
}

async function report(error: unknown, onError: ServiceOptions['onError']): Promise<void> {
  try {
    await onError?.(error);
  } catch (thrown) {
    process.emitWarning(
      `\`onError\` of createService failed: ${thrown}. It was called with: ${error}`,
    );
  }
}
