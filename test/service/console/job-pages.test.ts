import { describe, expect, it } from 'vitest';
import { DAY, HOUR, SECOND } from '../../../src/base/time.js';
import { DWELL, localJobs } from '../jobs/local-jobs.js';
import { NOW } from '../local-service.js';
import { MemoryArchive, originalPost } from '../memory-archive.js';
import { browse, HOSTILE, readable } from './browse.js';

describe('the console page of jobs', () => {
  it('shows jobs with their quotes, and accepts and rejects them', async () => {
    const { service, create, move, job } = await localJobs({ jobDollarsPerDay: 500 });
    const browser = browse(service.addresses().baseUrl);
    await browser.signIn();
    const empty = readable((await browser.get('/console/jobs')).text);
    expect(empty).toMatch(/No jobs yet\..* this makes one: curl curl -u/);
    const one = await create({ title: HOSTILE, rules: [{ value: 'coffee', tag: HOSTILE }] });
    const two = await create({ title: 'two' });
    await move(3 * DWELL);
    const page = await browser.get('/console/jobs');
    expect(readable(page.text)).toContain(HOSTILE);
    expect(readable(page.text)).toContain('$500');
    expect(readable(page.text)).toContain('$500, fewer than 1,000 posts');
    expect(page.text).not.toMatch(/<script|<img/);
    const quoted = await browser.get(`/console/jobs/${one}`);
    expect(readable(quoted.text)).toMatch(
      /Posts fewer than 1,000 Time, at most \d+ minutes? Size, compressed about \d+ bytes/,
    );
    expect(readable(quoted.text)).toContain('only by its order of magnitude');
    const accepted = await browser.post(`/console/jobs/${one}`, { decision: 'accept' });
    expect([accepted.status, accepted.location]).toEqual([303, `/console/jobs/${one}#job-${one}`]);
    const reject = { job: two, decision: 'reject' };
    const asked = await browser.post('/console/jobs', reject);
    expect(readable(asked.text)).toContain('A rejected job cannot be restored:');
    expect((await job(two)).status).toBe('quoted');
    await browser.post('/console/jobs', { ...reject, confirmed: 'yes' });
    expect((await job(one)).status).toBe('accepted');
    expect(await job(two)).toMatchObject({ status: 'rejected', acceptedBy: 'dev@example.com' });
    expect((await browser.post(`/console/jobs/${one}`, { decision: 'burn' })).status).toBe(400);
    await move(4 * DWELL);
    const alone = await browser.get(`/console/jobs/${one}`);
    expect(readable(alone.text)).toMatch(/6 posts in \d files Size (\d+ bytes|[\d.]+ kB)/);
    expect(readable(alone.text)).toContain(`coffee ${HOSTILE}`.replace('  ', ' ').slice(7));
    expect(alone.text).not.toMatch(/<script|<img/);
    await move(16 * DAY);
    expect((await browser.get(`/console/jobs/${one}`)).status).toBe(404);
  });

  it('lists the files of a job with their sizes, and the posts of a file in pages', async () => {
    const archive = new MemoryArchive(
      Array.from({ length: 25 }, (_, i) =>
        originalPost(
          NOW - 3 * HOUR + i * SECOND,
          `${1_790_000_000_000_000_000n + BigInt(i)}`,
          `coffee ${i} ${HOSTILE}`,
        ),
      ),
    );
    const { service, bring } = await localJobs({ archive });
    const browser = browse(service.addresses().baseUrl);
    await browser.signIn();
    const uuid = await bring('delivered');
    const job = await browser.get(`/console/jobs/${uuid}`);
    expect(readable(job.text)).toMatch(
      /1 file Ten minutes from Posts Size 2024-05-15 09:30 UTC 25 [\d.]+ (kB|bytes)/,
    );
    const file = `/console/jobs/${uuid}/202405150930`;
    expect(job.text).toContain(`href="${file}"`);
    const first = await browser.get(file);
    expect(readable(first.text)).toContain('25 posts in ');
    expect(first.text).not.toMatch(/<script|<img/);
    const numbers = (text: string) =>
      [...readable(text).matchAll(/UTC coffee (\d+) /g)].map(([, number]) => Number(number));
    expect(numbers(first.text)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(readable(first.text)).toContain('After 1 to 10 of 25');
    const last = await browser.get(`${file}?page=3`);
    expect(numbers(last.text)).toEqual([20, 21, 22, 23, 24]);
    expect((await browser.get(`/console/jobs/${uuid}/202405150940`)).status).toBe(404);
    expect((await browser.get('/console/jobs/none/202405150930')).status).toBe(404);
  });
});
