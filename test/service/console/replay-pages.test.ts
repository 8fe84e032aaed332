import { describe, expect, it } from 'vitest';
import { END, hourOfPosts, localStreams, START } from '../replay/local-streams.js';
import { browse, readable } from './browse.js';

describe('the page of replays', () => {
  it('shows each with its last message', async () => {
    const { service, see, replayPath } = await localStreams(hourOfPosts());
    const browser = browse(service.addresses().baseUrl);
    await browser.signIn();
    const page = async () => readable((await browser.get('/console/replays')).text);
    expect(await page()).toContain('No replays yet');
    await see(replayPath());
    expect(await page()).toMatch(/Replay Request Completed 60 \d\d:\d\d:\d\d UTC/);
    service.faults.plant({ kind: 'minutes-failed', minutes: ['202405151005'] });
    await see(replayPath());
    expect(await page()).toMatch(
      /Replay Request Completed with Errors 1 minute failed: 2024-05-15 10:05 UTC/,
    );
    service.faults.plant({ kind: 'unprocessed-range', fromDate: '202405151030' });
    await see(replayPath());
    expect(await page()).toMatch(/Failed to Complete Not processed: 2024-05-15 10:30 to 11:00 UTC/);
    service.faults.plant({ kind: 'content-cut', afterMessages: 3 });
    await see(replayPath('firehose', START, END));
    expect(await page()).toContain('cut off before its last message');
  });

  it('shows the last message of the last replay on the overview', async () => {
    const { service, see, replayPath } = await localStreams(hourOfPosts());
    const browser = browse(service.addresses().baseUrl);
    await browser.signIn();
    const overview = async () => readable((await browser.get('/console')).text);
    expect(await overview()).toContain('no replay has ended');
    await see(replayPath());
    expect(await overview()).toMatch(/last replay: Replay Request Completed \S/);
    service.faults.plant({ kind: 'minutes-failed', minutes: ['202405151005'] });
    await see(replayPath());
    expect(await overview()).toContain('last replay: Replay Request Completed with Errors');
    service.faults.plant({ kind: 'content-cut', afterMessages: 3 });
    await see(replayPath('firehose', START, END));
    expect(await overview()).toContain('last replay: cut off before its last message');
  });

  it('shows a running replay', async () => {
    const { service, open, replayPath } = await localStreams(hourOfPosts(), {
      replayPostsPerSecond: 1,
    });
    const browser = browse(service.addresses().baseUrl);
    await browser.signIn();
    const connection = await open(replayPath());
    await connection.until(text => text.includes('tea number 0'));
    expect(readable((await browser.get('/console/replays')).text)).toContain('streaming');
    connection.destroy();
    await expect
      .poll(async () => readable((await browser.get('/console/replays')).text))
      .toContain('cut off');
  });
});
