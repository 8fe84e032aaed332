import { describe, expect, it } from 'vitest';
import { DataError, OptionError } from '../../src/base/errors.js';
import { findJob, getJob, jobResults, jobResultsCsv, listJobs } from '../../src/jobs/job-calls.js';
import { json, status } from '../http/scripted-server.js';
import { acme, JOB, listed, methods, QUOTE, server, setUpServer } from './scripted-jobs.js';

setUpServer();

describe('the status of a job', () => {
  const opened = () => {
    server.script.push(
      json({
        ...JOB,
        status: 'open',
        quote: QUOTE,
        percentComplete: '94',
        results: {
          completedAt: '2024-05-15T12:34:56Z',
          activityCount: 1234,
          fileCount: '144',
          fileSizeMb: '1.44',
          dataURL: 'https://x/y',
          expiresAt: '2024-05-30T12:34:56Z',
        },
      }),
    );
    return getJob(acme(), JOB.jobURL);
  };

  it('is read with one request', async () => {
    await opened();
    expect(methods()).toEqual(['GET /jobs/eff5t4me1j.json']);
  });

  it('is named `opened` if the service says `open`', async () => {
    expect((await opened()).status).toBe('opened');
  });

  it('has its counts converted to numbers', async () => {
    expect(await opened()).toMatchObject({
      percentComplete: 94,
      quote: {
        costDollars: 5000,
        estimatedActivityCount: 100,
        estimatedDurationHours: 915,
        estimatedFileSizeMb: 0,
      },
      results: { activityCount: 1234, fileCount: 144, fileSizeMb: 1.44 },
    });
  });

  it('contains the dates as the service sent them', async () => {
    expect(await opened()).toMatchObject({
      quote: { expiresAt: QUOTE.expiresAt },
      results: { completedAt: '2024-05-15T12:34:56Z', expiresAt: '2024-05-30T12:34:56Z' },
    });
  });

  it('is not requested a second time if the service answers 404', async () => {
    server.script.push(status(404));
    await expect(getJob(acme(), 'eff5t4me1j')).rejects.toMatchObject({ status: 404 });
  });

  it.each(['', '../x', 'a/b', 'a?b', undefined, 7])(
    'is not requested for the invalid job id %j',
    async name => {
      expect(() => getJob(acme(), name as string)).toThrow(OptionError);
      expect(server.received).toEqual([]);
    },
  );

  it('may have a status that is a number', async () => {
    server.script.push(json({ ...JOB, status: 7 }));
    expect((await getJob(acme(), 'eff5t4me1j')).status).toBe('7');
  });

  it.each([
    [/`status` should be a string, and is missing/, { ...JOB, status: undefined }],
    [/estimatedDurationHours/, { ...JOB, quote: { ...QUOTE, estimatedDurationHours: 'long' } }],
    [/quote/, { ...JOB, quote: 7 }],
    [/not a JSON object/, []],
  ])('causes a DataError that matches %s if the response is not a job', async (expected, body) => {
    server.script.push(json(body));
    const outcome = await getJob(acme(), 'eff5t4me1j').catch(e => e);
    expect(outcome).toBeInstanceOf(DataError);
    expect(outcome.message).toMatch(expected);
  });
});

describe('a parsed list', () => {
  it('of jobs contains their ids and delivered totals', async () => {
    const item = {
      ...JOB,
      status: 'open',
      percentComplete: '0',
      expiresAt: '2024-05-30T12:34:56Z',
    };
    server.script.push(
      json({ jobs: [item], delivered: { jobCount: 1, jobDaysRun: '3', activityCount: 9 } }),
    );
    expect(await listJobs(acme())).toMatchObject({
      jobs: [{ uuid: 'eff5t4me1j', title: 'snow', status: 'opened', percentComplete: 0 }],
      delivered: { jobCount: 1, jobDaysRun: 3, activityCount: 9 },
    });
    server.script.push(listed(item), listed());
    expect(await findJob(acme(), 'snow')).toMatchObject({ uuid: 'eff5t4me1j' });
    expect(await findJob(acme(), 'snow')).toBeUndefined();
    server.script.push(listed({ ...item, title: 'snow (rules 3fa9c2d1)' }));
    expect(await findJob(acme(), 'snow')).toMatchObject({ uuid: 'eff5t4me1j' });
  });

  it('of files may be JSON in either spelling, or CSV', async () => {
    server.script.push(
      json({
        urlCount: '2',
        urlList: ['https://x/a', 'http://127.0.0.1:1/b'],
        totalFileSizeBytes: 7,
        suspectMinutesUrl: 's',
        expiresAt: 'e',
      }),
    );
    expect(await jobResults(acme(), 'eff5t4me1j')).toEqual({
      urlCount: 2,
      urlList: ['https://x/a', 'http://127.0.0.1:1/b'],
      totalFileSizeBytes: 7,
      suspectMinutesURL: 's',
      expiresAt: 'e',
    });
    server.script.push(response =>
      response.end('a_00_activities.json.gz\thttps://x/a?b=c\nb.gz\thttps://x/b\n'),
    );
    expect(await jobResultsCsv(acme(), 'eff5t4me1j')).toEqual([
      { name: 'a_00_activities.json.gz', url: 'https://x/a?b=c' },
      { name: 'b.gz', url: 'https://x/b' },
    ]);
    expect(methods()).toEqual([
      'GET /jobs/eff5t4me1j/results.json',
      'GET /jobs/eff5t4me1j/results.csv',
    ]);
  });

  it('of files may be empty CSV, use CRLF, or have no final line end', async () => {
    for (const body of ['', 'a\thttps://x/a', 'a\thttps://x/a\r\n'])
      server.script.push(response => response.end(body));
    expect(await jobResultsCsv(acme(), 'eff5t4me1j')).toEqual([]);
    const one = [{ name: 'a', url: 'https://x/a' }];
    expect(await jobResultsCsv(acme(), 'eff5t4me1j')).toEqual(one);
    expect(await jobResultsCsv(acme(), 'eff5t4me1j')).toEqual(one);
  });

  it.each([
    ['an HTML page', '<html>\n<body>Sign in</body>\n</html>', 'got "<html>"', 1],
    ['JSON', '{"urlCount":1,"urlList":["https://x/a"]}', 'got "{\\"urlCount\\":1', 1],
    ['an empty line', 'a\thttps://x/a\n\nb\thttps://x/b\n', 'got an empty line', 2],
    ['no URL', 'a\thttps://x/a\nb.gz', 'got "b.gz"', 2],
    ['no name', '\thttps://x/a', 'got "\\thttps://x/a"', 1],
    ['three columns', 'a\thttps://x/a\tb', 'got "a\\thttps://x/a\\tb"', 1],
    ['a truncated line', 'a\thttps://x/a\nb.gz\thtt', 'got "htt"', 2],
    ['a URL without https', 'a\thttp://x.example/a?sig=canary', 'got http://x.example/a?...', 1],
    ['a URL of another scheme', 'a\tjavascript:alert(1)', 'got "javascript:alert(1)"', 1],
    ['a password in a URL', 'a\thttps://me:canary@x/a', 'got https://x/a', 1],
    ['a signature and no tab', 'a https://x/a?sig=canary', 'got "a https://x/a..."', 1],
  ])(
    'of files as CSV causes an error that quotes the wrong line if the list contains %s',
    async (_, body, got, line) => {
      server.otherwise = response => response.end(body);
      const error = await jobResultsCsv(acme(), 'eff5t4me1j').catch(error => error);
      expect(error).toBeInstanceOf(DataError);
      expect(error.message).toContain(got);
      expect(error.message).not.toContain('canary');
      expect(error.position).toMatchObject({
        line,
        origin: expect.stringContaining('results.csv'),
      });
    },
  );

  it('of files causes an error if a URL is invalid or not https, in CSV and JSON', async () => {
    for (const url of ['a', 'http://x.example/a?sig=canary', 'https://me:canary@x/a']) {
      server.script.push(json({ urlCount: 1, urlList: [url] }));
      const error = await jobResults(acme(), 'eff5t4me1j').catch(error => error);
      expect(error).toBeInstanceOf(DataError);
      expect(error.message).toMatch(/Expected the address of each file to be https, got .*results/);
      expect(error.message).not.toContain('canary');
    }
  });

  it('of files may have http URLs if the account allows their origin', async () => {
    const urlList = ['http://x.example:81/a?sig=canary'];
    const allowing = (...insecureOrigins: string[]) => acme({ insecureOrigins });
    server.script.push(json({ urlCount: 1, urlList }));
    const listing = await jobResults(allowing('http://x.example:81'), 'eff5t4me1j');
    expect(listing.urlList).toEqual(urlList);
    server.script.push(response => response.end(`a.json.gz\t${urlList[0]}\n`));
    const files = await jobResultsCsv(allowing('http://x.example:81'), 'eff5t4me1j');
    expect(files.map(({ url }) => url)).toEqual(urlList);
    server.script.push(json({ urlCount: 1, urlList }));
    await expect(jobResults(allowing('http://x.example'), 'eff5t4me1j')).rejects.toBeInstanceOf(
      DataError,
    );
  });
});
