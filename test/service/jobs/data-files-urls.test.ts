import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createDataUrls, dataPath, localName } from '../../../src/service/jobs/data-files.js';
import { bySuite } from '../../suite.js';
import { at, JOB } from './opened-job.js';

describe('the URL of a job file', () => {
  it('contains the job and the ten minutes of the file', () => {
    expect(dataPath(JOB, at('201307221500'), 'twitter', 'my account')).toBe(
      '/snapshots/twitter/track_v2/original/my%20account/2013/07/24/20130722-20130723_eff5t4me1j/2013/07/22/15/00_activities.json.gz',
    );
  });

  it('is listed with a local file name that contains the job and the ten minutes', () => {
    expect(localName(JOB, at('201307221500'))).toBe(
      '20130722-20130723_eff5t4me1j_2013_07_22_15_00_activities.json.gz',
    );
  });

  it('is valid only with its own signature, in every process with the same seed', () => {
    const path = fc.webPath().filter(text => text.startsWith('/'));
    fc.assert(
      fc.property(path, fc.nat(2 ** 31 - 1), fc.string(), (given, seconds, seed) => {
        const signed = new URL(
          `http://localhost${createDataUrls(seed, 'acme').sign(given, seconds * 1000)}`,
        );
        const { pathname } = signed;
        const url = new URL(
          `http://localhost${createDataUrls(seed, 'acme').sign(pathname, seconds * 1000)}`,
        );
        expect(createDataUrls(seed, 'other').expiryOf(url)).toBe(seconds * 1000);
        expect(createDataUrls(`${seed}!`, 'acme').expiryOf(url)).toBe(undefined);
        url.pathname += 'x';
        expect(createDataUrls(seed, 'acme').expiryOf(url)).toBe(undefined);
      }),
      { numRuns: bySuite(4, 160) },
    );
  });
});
