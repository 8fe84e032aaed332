import { beforeEach, describe, expect, it, vi } from 'vitest';
import { OptionError, RulesError } from '../../src/base/errors.js';
import { listReplayRules } from '../../src/replay/rule-calls.js';
import { renderRuleChanges, syncRules } from '../../src/replay/sync-rules.js';
import { collect } from '../../src/sinks/collect.js';
import { AT_ONCE_MS } from '../at-once.js';
import { unchecked } from '../unchecked.js';
import { acme, server, setUpRules, stream } from './scripted-rules.js';

setUpRules();

const held = () => [...stream.rules.values()].map(({ value, tag }) => ({ value, tag }));

describe('listReplayRules as a source', () => {
  it('delivers the rules with exact ids', async () => {
    const ids = Array.from({ length: 5_000 }, (_, n) => stream.hold(`rule ${n}`, `${n}`));
    const rules = await collect()(listReplayRules(acme));
    expect(rules.map(rule => (rule as { id?: string }).id)).toEqual(ids);
  });

  it('delivers each rule only once, even if the first response is cut off', async () => {
    for (let n = 0; n < 5_000; n++) stream.hold(`rule ${n}`);
    server.script.push(response => {
      response.write(
        `{"rules":[${[...stream.rules.values()]
          .slice(0, 100)
          .map(({ value, id }) => `{"value":"${value}","tag":null,"id":${id}}`)
          .join(',')},`,
      );
      setTimeout(() => response.socket?.destroy(), 20);
    });
    const rules = await collect<{ value: string }>()(listReplayRules(acme));
    expect(rules.map(({ value }) => value)).toEqual([...stream.rules.keys()]);
    expect(server.received.length).toBe(2);
  });

  it('closes its connection when the reader stops', async () => {
    for (let n = 0; n < 50_000; n++) stream.hold(`rule ${n}`);
    for await (const rule of listReplayRules(acme)) {
      expect(rule.value).toBe('rule 0');
      break;
    }
    expect(await server.closed()).toBeLessThan(AT_ONCE_MS);
  });
});

describe('syncRules', () => {
  const wanted = [{ value: 'keep', tag: 'k' }, { value: 'retag', tag: 'new' }, { value: 'add' }];

  beforeEach(() => {
    stream.hold('keep', 'k');
    stream.hold('retag', 'old');
    stream.hold('drop');
  });

  it('emits the warnings of new rules, even in a dry run', async () => {
    const emitted = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    stream.hold('squall*');
    const rules = [...wanted, { value: 'squall*' }, { value: 'gust*' }];
    await syncRules(acme, rules, { dryRun: true });
    await syncRules(acme, rules);
    const warnings = emitted.mock.calls.map(([warning]) => String(warning));
    emitted.mockRestore();
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(/^replayRules\.sync: .*R112.*gust/s);
    expect(warnings[0]).not.toContain('squall');
  });

  it('changes the rules of the stream to equal a list, and changes nothing in a second run', async () => {
    const changes = await syncRules(acme, wanted);
    expect(changes).toMatchObject({ unchanged: 1, applied: true });
    expect(held()).toEqual([
      { value: 'keep', tag: 'k' },
      { value: 'add', tag: null },
      { value: 'retag', tag: 'new' },
    ]);
    const requests = server.received.length;
    expect(await syncRules(acme, wanted)).toMatchObject({
      added: [],
      deleted: [],
      retagged: [],
      unchanged: 3,
    });
    expect(server.received.length).toBe(requests + 1);
  });

  it('only requests the current rules in a dry run, and returns the difference', async () => {
    const before = held();
    const changes = await syncRules(acme, wanted, { dryRun: true });
    expect(renderRuleChanges(changes)).toBe(
      [
        '- "drop" (no tag)',
        '~ "retag" [old] -> [new]',
        '+ "add" (no tag)',
        '1 added, 1 deleted, 1 retagged, 1 unchanged (dry run: nothing was changed)',
      ].join('\n'),
    );
    expect(held()).toEqual(before);
    expect(server.received.map(({ method }) => method)).toEqual(['GET']);
  });

  it('changes nothing if a new rule is invalid', async () => {
    const before = held();
    const error = await syncRules(acme, [...wanted, { value: 'has:vidoes' }]).catch(e => e);
    expect(error).toBeInstanceOf(RulesError);
    expect(error.message).toContain('"has:vidoes"');
    expect(held()).toEqual(before);
  });

  it('adds rules before it deletes others, so that no old rule is lost if adding fails', async () => {
    const before = held();
    stream.hasValidation = false;
    const error = await syncRules(acme, [{ value: 'has:vidoes' }]).catch(e => e);
    expect(error).toBeInstanceOf(RulesError);
    expect(held()).toEqual(before);
  });

  it.each(['', 'OK'])(
    'still adds the missing rules if the 200 response to a delete has the body %j',
    async body => {
      stream.deletedBody = body;
      await syncRules(acme, wanted);
      expect(held()).toEqual([
        { value: 'keep', tag: 'k' },
        { value: 'add', tag: null },
        { value: 'retag', tag: 'new' },
      ]);
      const deletes = server.received.filter(({ url }) => url.includes('_method=delete'));
      expect(deletes.length).toBe(1);
    },
  );

  it('changes the rules even if the service has no validation endpoint', async () => {
    stream.hasValidation = false;
    await syncRules(acme, wanted);
    expect(held().length).toBe(3);
    const paths = server.received.map(({ url }) => new URL(url, 'http://x').pathname);
    expect(paths.filter(path => path.endsWith('/validation.json')).length).toBe(1);
  });

  it('changes no rule if the service would not accept a held rule that gets a new tag', async () => {
    stream.hold('old has:vidoes', 'a');
    const before = held();
    const retag = { value: 'old has:vidoes', tag: 'b' };
    await expect(syncRules(acme, [...wanted, retag])).rejects.toThrow(RulesError);
    expect(held()).toEqual(before);
  });

  it('throws an OptionError for a misspelt `dryRun`', async () => {
    for (const options of [{ dryrun: true }, { dryRun: 'yes' }, null])
      await expect(syncRules(acme, wanted, unchecked(options))).rejects.toThrow(OptionError);
    await expect(syncRules(acme, [{ value: 'a', tag: unchecked(7) }])).rejects.toThrow(OptionError);
    expect(server.received).toEqual([]);
  });

  it('throws an error that names both tags before any request if a value has two tags', async () => {
    const twice = [
      { value: 'a', tag: 'x' },
      { value: 'a', tag: 'y' },
    ];
    await expect(syncRules(acme, twice)).rejects.toThrow('two tags, [x] and [y]');
    expect(server.received).toEqual([]);
  });
});
