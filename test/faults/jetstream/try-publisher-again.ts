import { setTimeout as sleep } from 'node:timers/promises';
import { Kvm } from '@nats-io/kv';
import type { Counts, Trial } from '../part.js';
import { POSTS, publishes, SETTINGS } from './publisher-run.js';
import type { StreamSetting } from './stream-setting.js';

// In these trials, a first run of the publisher ends in the middle, and a next run resumes.

const STOP = new Error('The script stops');

/**
 * Tries a post that the servers or the library refuse. In the next run, the source delivers a valid
 * post in its place.
 */
export const refused =
  (spoil: (record: string) => string, message: RegExp) =>
  async (setting: StreamSetting, trial: Trial): Promise<Counts> => {
    const { random } = trial;
    const world = await setting.world();
    const { options } = random.pick(SETTINGS);
    const at = random.whole(0, POSTS - 1);
    return publishes(setting, trial, { world, options }, async run => {
      const error = await run.error({
        change: (record, index) => [index === at ? spoil(record) : record],
        // Leaves time for commits between the posts.
        before: () => sleep(1),
      });
      if (error === undefined) throw new Error('The run ended as if nothing had been');
      if (!message.test(error.message)) throw error;
      const stored = await run.mustBeExact();
      if (stored > at) throw new Error(`${stored} posts are stored, and ${at} were before it`);
      await run.run();
      return { hits: 1, committed: run.startedAt, ...(await run.mustBeComplete()) };
    });
  };

/** From a random moment on, the servers refuse the login. They also close the connection. */
export async function locked(setting: StreamSetting, trial: Trial): Promise<Counts> {
  const { random } = trial;
  const world = await setting.world('logins');
  const { options } = random.pick(SETTINGS);
  const at = random.whole(0, POSTS - 1);
  return publishes(setting, trial, { world, options }, async run => {
    try {
      const error = await run.error({
        before: index => (index === at ? world.setLogin(false) : sleep(1)),
      });
      if (error === undefined) throw new Error('The run ended as if nothing had been');
      if ((error as { failure?: unknown }).failure !== 'refused') throw error;
    } finally {
      await world.setLogin(true);
    }
    await run.mustBeExact();
    await run.run();
    return { hits: 1, committed: run.startedAt, ...(await run.mustBeComplete()) };
  });
}

/** Tries a wrong clock in the process: it is ahead in one run and behind in the next. */
export async function clockOff(setting: StreamSetting, trial: Trial): Promise<Counts> {
  const { random } = trial;
  const world = await setting.world();
  const { options } = random.pick(SETTINGS);
  const at = random.whole(0, POSTS - 1);
  const skewMs = random.pick([-1, 1]) * random.whole(3_000_000, 3_600_000);
  const now = Date.now.bind(Date);
  let looks = 0;
  const skewed = async <T>(ms: number, run: () => Promise<T>): Promise<T> => {
    Date.now = () => {
      looks++;
      return now() + ms;
    };
    try {
      return await run();
    } finally {
      Date.now = now;
    }
  };
  return publishes(setting, trial, { world, options }, async run => {
    const before = (index: number) => {
      if (index === at) throw STOP;
      return sleep(1);
    };
    const ended = await skewed(skewMs, () => run.run({ before })).catch(error => error);
    if (ended !== STOP) throw ended;
    await run.mustBeExact();
    await skewed(-skewMs, () => run.run());
    return {
      hits: Number(looks > 0),
      looks,
      committed: run.startedAt,
      ...(await run.mustBeComplete()),
    };
  });
}

/**
 * Purges the stream after a run that has published posts without committing them. The publisher
 * cannot tell which of these posts the stream has contained, so the script must start from the
 * beginning.
 */
export async function expired(setting: StreamSetting, trial: Trial): Promise<Counts> {
  const { random } = trial;
  const world = await setting.world();
  const { options } = random.pick(SETTINGS);
  const at = random.whole(1, POSTS - 1);
  return publishes(setting, trial, { world, options }, async run => {
    const before = (index: number) => {
      if (index === at) throw STOP;
    };
    const ended = await run.run({ before }).catch(error => error);
    if (ended !== STOP) throw ended;
    await world.manager.streams.purge(run.name);
    const error = await run.error({});
    // There is no error if the last commit covered all posts.
    if (error === undefined) return { hits: 0 };
    if ((error as { failure?: unknown }).failure !== 'publisher') throw error;
    // Purges the stream again, because messages of the first run may have arrived since. A script
    // that starts from the beginning would repeat them.
    await world.manager.streams.purge(run.name);
    await (await new Kvm(world.connection).open('millrace')).delete(run.name);
    await run.run();
    return { hits: 1, ...(await run.mustBeComplete()) };
  });
}
