import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import * as millrace from 'millrace';
import { describe, expect, it } from 'vitest';
import manifest from '../package.json' with { type: 'json' };
import { DAY, HOUR, MINUTE, SECOND } from '../src/base/time.js';
import { LIMITS } from '../src/http/rate-limits.js';
import { SETTINGS } from '../src/http/settings.js';
import { controlRoutes } from '../src/service/control-routes.js';
import { ENDPOINT_NAMES } from '../src/service/http/router.js';
import {
  architecture,
  blocksOf,
  listedStages,
  namesIn,
  pageNamed,
  pages,
  root,
  tableOf,
} from './pages.js';
import { kindsOf, literalsOf, membersOf } from './public-api.js';
import { unchecked } from './unchecked.js';

const readme = pageNamed('README.md');
const http = pageNamed('src/http/README.md');
const acme = millrace.account({}, {});
const service = pageNamed('src/service/README.md');
const exampleNames = readdirSync(path.join(root, 'examples')).filter(name => name.endsWith('.ts'));

describe('the README', () => {
  it('has at most 150 lines', () => {
    expect(readme.text.split('\n').length).toBeLessThanOrEqual(150);
  });
});

describe('the architecture page', () => {
  it('states the reason for each dependency, and lists no other package', () => {
    const table = tableOf(architecture, 'What is installed and published', 'Dependency');
    const named = table.flatMap(row => namesIn(row[0]));
    expect(named.toSorted()).toEqual(Object.keys(manifest.dependencies).toSorted());
  });
});

describe('the page of stages', () => {
  it('lists every source, operator and sink once, except search, which it lists twice', () => {
    const calls = [
      'account',
      'preview',
      'safeName',
      'pipeline',
      'operator',
      'perBatch',
      'openTombstones',
    ];
    const others = [...calls, 'applyCompliance', 'parseComplianceEvent'];
    const exported = Object.entries(millrace)
      .filter(([name, value]) => typeof value === 'function' && /^[a-z]/.test(name))
      .map(([name]) => name)
      .filter(name => !others.includes(name) && !/^parse/.test(name));
    const stages = listedStages().filter(name => !name.includes('.'));
    expect(stages.toSorted()).toEqual([...exported, 'search'].toSorted());
  });
});

describe('the documentation pages', () => {
  it('name every example, and no file that does not exist', () => {
    const named = pageNamed('examples/README.md').text.matchAll(/\((\d\d-[\w-]+\.ts)\)/g);
    expect([...named].map(match => match[1]).toSorted()).toEqual(exampleNames.toSorted());
  });

  it.each(pages)('have no broken links: $name', ({ name, text }) => {
    for (const [, link = ''] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^https?:/.test(link)) continue;
      const [file = '', anchor] = link.split('#');
      const target = file === '' ? name : path.posix.join(path.posix.dirname(name), file);
      expect(existsSync(path.join(root, target)), `${link} of ${name}`).toBe(true);
      if (anchor === undefined) continue;
      const { text: there } = pageNamed(target);
      const anchors = [...there.matchAll(/^#+ (.*)$/gm)].map(match => anchorOf(match[1] as string));
      expect(anchors, `${link} of ${name}`).toContain(anchor);
    }
  });

  it.each(pages)('have no empty cell in a table: $name', ({ text }) => {
    expect(text).not.toMatch(/^\|.*undefined/m);
    expect(text).not.toMatch(/<!--|service\.md/);
  });

  it('are all linked from the README', () => {
    for (const { name } of pages) {
      const link = name.replace(/README\.md$/, '');
      expect(name === 'README.md' || readme.text.includes(`(${link}`), name).toBe(true);
    }
  });
});

function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');
}

/**
 * Tables of options: the page, the heading, the first column, and the type whose members the table
 * must list.
 */
const OPTION_TABLES = [
  ['src/search/README.md', 'Search and counts', 'Option', 'SearchOptions'],
  ['src/search/README.md', 'Many rules', 'Limit', 'rules.PackOptions'],
  ['src/jobs/README.md', 'Historical jobs', 'Option of `jobs.run`', 'jobs.RunJobOptions'],
  ['src/replay/README.md', 'Replay', 'Option', 'ReplayOptions'],
  ['src/compliance/README.md', 'Compliance', 'Option', 'ComplianceOptions'],
  ['src/usage/README.md', 'Usage', 'Option', 'usage.UsageOptions'],
  ['src/users/README.md', 'Sign-in', 'Option', 'users.SignInOptions'],
  [
    'src/users/README.md',
    'Engagement totals',
    'Option of `users.engagementTotals`',
    'users.EngagementTotalsOptions',
  ],
  ['src/users/README.md', 'Engagement totals', 'Option of `engagement`', 'EngagementOptions'],
  ['src/sinks/README.md', 'The `files` sink', 'Option', 'FilesOptions'],
  ['src/sinks/README.md', 'A target of your own', 'Option', 'CommittedOptions'],
  ['src/tables/README.md', 'CSV', 'Option', 'CsvOptions'],
  ['src/tables/README.md', 'Parquet', 'Option', 'ParquetOptions'],
  ['src/jetstream/README.md', 'The connection', 'Option', 'jetstream:JetStreamConnectionOptions'],
  ['src/jetstream/README.md', 'Publishing', 'Setting', 'jetstream:CreateStreamOptions'],
  ['src/service/README.md', 'Options', 'Option', 'service:ServiceOptions'],
] as const;

describe('an option table of the documentation pages', () => {
  it.each(OPTION_TABLES)(
    'lists exactly the options in the code: %s, %s, %s',
    (page, heading, column, type) => {
      const named = tableOf(pageNamed(page), heading, column).flatMap(row => namesIn(row[0]));
      expect(named.toSorted()).toEqual(membersOf(type).toSorted());
    },
  );

  it.each([
    ['Publishing', 'jetstream:ToJetStreamOptions'],
    ['Reading', 'jetstream:FromJetStreamOptions'],
  ])(
    'for JetStream lists exactly the options in the code except the connection: %s',
    (heading, type) => {
      const rows = tableOf(pageNamed('src/jetstream/README.md'), heading, 'Option');
      const named = rows.flatMap(row => namesIn(row[0]));
      const shared = membersOf('jetstream:JetStreamConnectionOptions');
      expect([...named, ...shared].toSorted()).toEqual(membersOf(type).toSorted());
    },
  );

  it('for a search with rules lists the options that differ from a search', () => {
    const page = pageNamed('src/search/README.md');
    const own = tableOf(page, 'Many rules', 'Option').flatMap(row => namesIn(row[0]));
    const all = membersOf('SearchRulesOptions');
    expect(own).toEqual(all.filter(name => !membersOf('SearchOptions').includes(name)).toSorted());
    const left = ['query', 'tag', 'limit', 'pages', 'next'];
    expect([...all, ...left].toSorted()).toEqual(
      [...own, ...membersOf('SearchOptions')].toSorted(),
    );
  });

  it('for account() lists settings with their environment variables, and other options', () => {
    const settings = tableOf(http, 'Settings', 'Option').map(([name, env]) => [name, env]);
    expect(settings).toEqual(
      Object.entries(SETTINGS).map(([name, { env }]) => [`\`${name}\``, `\`${env}\``]),
    );
    const others = tableOf(http, 'Other options', 'Option').flatMap(row => namesIn(row[0]));
    expect([...Object.keys(SETTINGS), ...others].toSorted()).toEqual(
      membersOf('AccountOptions').toSorted(),
    );
  });

  it.each([
    ['Timeouts', acme.timeouts],
    ['Retries', acme.retry],
  ])('for account() lists %s with their defaults', (heading, defaults) => {
    const rows = tableOf(http, heading, 'Option').map(([name, value]) => [name, value]);
    expect(rows).toEqual(
      Object.entries(defaults).map(([name, value]) => [`\`${name}\``, String(value)]),
    );
  });

  it('for account() lists the rate limits', () => {
    const spans = new Map([
      [SECOND, '1 s'],
      [5 * SECOND, '5 s'],
      [MINUTE, '1 min'],
      [5 * MINUTE, '5 min'],
      [HOUR, '1 h'],
      [DAY, '24 h'],
    ]);
    const rows = tableOf(http, 'Rate limits', 'Family').map(([name, value]) => [name, value]);
    expect(rows).toEqual(
      Object.entries(LIMITS).map(([family, rates]) => [
        `\`${family}\``,
        rates.map(({ requests, perMs }) => `${requests} in ${spans.get(perMs)}`).join(', ') ||
          'none',
      ]),
    );
  });
});

describe('the page of errors', () => {
  const table = tableOf(http, 'Errors', 'Class');

  it('lists every class with its code and its fields', () => {
    const classes = Object.entries(millrace)
      .filter(([name]) => name.endsWith('Error') && name !== 'MillraceError')
      .map(([name]) => name);
    expect(table.flatMap(row => namesIn(row[0])).toSorted()).toEqual(classes.toSorted());
    for (const [name, , , fields] of table) {
      const [type = ''] = namesIn(name);
      for (const field of membersOf(type)) {
        const isOfAll = membersOf('MillraceError').includes(field);
        const isOfHttp = type === 'AuthorizationError' && membersOf('HttpError').includes(field);
        if (!isOfAll && !isOfHttp) expect(fields, type).toContain(`\`${field}\``);
      }
    }
  });

  it('lists every kind of connection failure', () => {
    const failures = tableOf(http, 'Errors', '`failure`').flatMap(row => namesIn(row[0]));
    expect(failures).toEqual(literalsOf('AuthorizationFailure'));
    const connection = table.find(([name]) => name === '`ConnectionError`')?.[3];
    for (const failure of literalsOf('ConnectionFailure'))
      expect(connection).toContain(`\`${failure}\``);
  });
});

describe('the page of the local service', () => {
  const AIM = ['kind', 'times', 'skip', 'endpoint', 'path', 'title'];

  it('lists every fault with its fields', () => {
    const kinds = kindsOf('service:Fault');
    expect(kinds.size).toBe(14);
    const rows = tableOf(service, 'Faults', '`kind`');
    expect(rows.flatMap(row => namesIn(row[0])).toSorted()).toEqual([...kinds.keys()].toSorted());
    for (const [kind, fields] of rows) {
      const members = kinds.get(namesIn(kind)[0] ?? '') ?? [];
      const own = members.filter(name => !AIM.includes(name));
      expect(namesIn(fields).toSorted(), kind).toEqual(own.toSorted());
    }
  });

  it('lists every way to select the requests of a fault, and every family of endpoints', () => {
    const rows = tableOf(service, 'Faults', 'Aim');
    expect(['kind', ...rows.flatMap(row => namesIn(row[0]))].toSorted()).toEqual(AIM.toSorted());
    const endpoints = rows.find(([name]) => name === '`endpoint`')?.[1];
    expect(namesIn(endpoints)).toEqual([...ENDPOINT_NAMES]);
  });

  it('lists every path of the HTTP control API', () => {
    const routes = controlRoutes(unchecked({ settings: {} }), unchecked({}));
    const rows = tableOf(service, 'The control path', 'Path').map(([path, methods]) => [
      path,
      methods,
    ]);
    expect(rows.toSorted()).toEqual(
      routes
        .map(({ pattern, methods }) => [`\`${pattern}\``, (methods ?? []).join(' ')])
        .toSorted(),
    );
  });
});

describe('the page of events', () => {
  it('lists every kind of event with its fields', () => {
    const kinds = kindsOf('ComplianceEvent');
    const rows = tableOf(pageNamed('src/compliance/README.md'), 'Compliance', '`kind` of an event');
    const listed = rows.flatMap(([names, fields]) =>
      namesIn(names).map(kind => [kind, namesIn(fields).toSorted()] as const),
    );
    expect(new Map(listed)).toEqual(
      new Map(
        [...kinds].map(([kind, fields]) => [
          kind,
          fields.filter(name => !['kind', 'at', 'raw'].includes(name)).toSorted(),
        ]),
      ),
    );
  });
});

describe('the page of the rule language', () => {
  const page = pageNamed('src/rules/README.md');

  it('lists every operator of the rule language', () => {
    const rows = tableOf(page, 'Operators', 'Clause').slice(2);
    expect(rows.map(([clause, , ...rest]) => [clause, ...rest])).toEqual(
      Object.entries(millrace.rules.operators).map(([name, { about, search, alone, aliases }]) => [
        `\`${name}:\``,
        about,
        search ? 'yes' : 'no',
        alone,
        aliases.map(alias => `\`${alias}:\``).join(' '),
      ]),
    );
  });

  it('shows the diagnostics that checkRule prints for a rule', () => {
    const rule = 'music has:vidoes';
    const [problem] = millrace.rules.check(rule, { product: 'search' }).problems;
    expect(problem).toBeDefined();
    expect(blocksOf(page, 'text')).toContain(
      `${millrace.rules.renderProblem(rule, unchecked(problem))}\n`,
    );
  });
});
