import { Activity, rules } from 'millrace';
import { median } from './measure.js';
import type { Chart, Study } from './question.js';
import {
  indexed,
  liqe,
  luceneFiltered,
  type Matcher,
  oneByOne,
  ruleText,
  sifted,
  toDocument,
} from './rules/engines.js';
import { workload } from './rules/workload.js';

const FEW = 1_000;
const MANY = 250_000;
const MANY_QUICK = 50_000;

interface Row {
  readonly name: string;
  readonly few: number;
  readonly many: number;
  readonly note?: string;
  readonly kind?: 'ours' | 'limit';
}

/**
 * Matches posts against many rules. Rates are in posts per second of CPU time, which includes
 * garbage collection.
 */
export const rulesQuestion: Study = {
  name: 'rules',
  title: 'Rules: which of many rules does a post match',
  run({ quick }) {
    const { posts: raw, rule } = workload(quick ? 3_000 : 20_000);
    const manyRules = quick ? MANY_QUICK : MANY;
    const all = Array.from({ length: manyRules }, rule);
    const few = all.slice(0, FEW);
    const posts = raw.map(bytes => new Activity(bytes));
    const passes = quick ? 2 : 7;

    const parse = rateOf(raw, passes, bytes => JSON.parse(bytes.toString()));
    const fewMatcher = indexed(few);
    const peers = peerRates(posts, few, fewMatcher, quick ? 0.5 : 4);
    const ours = { few: rateOf(posts, passes, fewMatcher), many: 0 };
    const fewParsing = rateOf(raw, passes, bytes => fewMatcher(new Activity(bytes)));

    const before = millisecondsOfCpu();
    const matcher = rules.compileAll(
      all.map((one, i) => ({ value: ruleText(one), id: String(i) })),
    );
    const buildSeconds = (millisecondsOfCpu() - before) / 1_000;
    let matches = 0;
    for (const post of posts) matches += matcher.match(post).length;
    ours.many = rateOf(posts, passes, post => matcher.match(post));
    const manyParsing = rateOf(raw, passes, bytes => matcher.match(new Activity(bytes)));
    const change = changeTimes(matcher, Array.from({ length: manyRules / 12.5 }, rule), manyRules);

    const rows: Row[] = [
      { name: 'millrace, parsed posts', kind: 'ours', ...ours },
      { name: 'millrace, from bytes', kind: 'ours', few: fewParsing, many: manyParsing },
      { name: '*`JSON.parse` alone*', kind: 'limit', few: parse, many: parse },
      ...peers.map(({ name, rate }) => ({
        name,
        few: rate,
        many: (rate * FEW) / manyRules,
        note: ' †',
      })),
    ];
    const markdown = [
      'Posts a second of CPU time, garbage collection included; one thread.',
      '',
      ...table(rows, ours, manyRules),
      '',
      `${manyRules.toLocaleString('en')} rules of three conditions each, ${(matches / posts.length).toFixed(1)} matches a post; ` +
        `posts of ${(raw.reduce((sum, bytes) => sum + bytes.length, 0) / raw.length / 1_000).toFixed(1)} kB. ` +
        `Compiled in ${buildSeconds.toFixed(1)} s; a rule deleted and another added in ` +
        `${change.median.toFixed(3)} ms, in ${change.worst.toFixed(1)} ms at worst of ${(manyRules / 12.5).toLocaleString('en')} times.`,
      '',
      `† measured at ${FEW.toLocaleString('en')} rules, and divided by ${manyRules / FEW} for ${manyRules.toLocaleString('en')}: ` +
        'these compare each post with each rule. They are given fields instead of a post, lower-case text with a ' +
        'blank around each word, and no rules with negations of words, which not all of them get right. ' +
        'Their matches were the same as ours.',
      '',
    ].join('\n');
    return { markdown, charts: [chartOf(rows, manyRules)] };
  },
};

function chartOf(rows: readonly Row[], manyRules: number): Chart {
  const panels = [
    { panel: `${FEW.toLocaleString('en')} rules`, rateOf: (row: Row) => row.few },
    { panel: `${manyRules.toLocaleString('en')} rules`, rateOf: (row: Row) => row.many },
  ];
  return {
    name: 'rules',
    title: rulesQuestion.title,
    unit: 'posts a second of one core',
    better: 'more',
    logarithmic: true,
    bars: panels.flatMap(({ panel, rateOf }) =>
      rows.map(row => ({
        panel,
        name: row.name.replace(/[*`]/g, ''),
        kind: row.kind ?? 'peer',
        values: [rateOf(row)],
      })),
    ),
  };
}

function peerRates(
  posts: readonly Activity[],
  few: Parameters<typeof indexed>[0],
  reference: Matcher<Activity>,
  seconds: number,
): { name: string; rate: number }[] {
  const documents = posts.map(toDocument);
  const timed = <Post>(name: string, inputs: readonly Post[], matches: Matcher<Post>) => {
    const started = millisecondsOfCpu();
    let done = 0;
    while (done < inputs.length && (done < 20 || millisecondsOfCpu() - started < seconds * 1_000)) {
      const found = matches(inputs[done] as Post);
      const expected = reference(posts[done] as Activity);
      if (found.join() !== expected.toSorted((a, b) => a - b).join())
        throw new Error(`rules: ${name} finds ${found} in post ${done}, millrace ${expected}`);
      done++;
    }
    const again = millisecondsOfCpu();
    for (let i = 0; i < done; i++) matches(inputs[i] as Post);
    return { name, rate: (done / (millisecondsOfCpu() - again)) * 1_000 };
  };
  return [
    timed('millrace, rule by rule', posts, oneByOne(few)),
    timed('sift', documents, sifted(few)),
    timed('lucene-filter', documents, luceneFiltered(few)),
    timed('liqe', documents, liqe(few)),
  ];
}

function rateOf<Input>(inputs: readonly Input[], passes: number, work: (input: Input) => unknown) {
  const rates: number[] = [];
  for (let pass = 0; pass <= passes; pass++) {
    const started = millisecondsOfCpu();
    for (const input of inputs) work(input);
    rates.push((inputs.length / (millisecondsOfCpu() - started)) * 1_000);
  }
  return median(rates.slice(1));
}

/**
 * Returns the CPU time of all threads of this process in milliseconds. It does not depend on the
 * load of the machine.
 */
function millisecondsOfCpu(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

function changeTimes(
  matcher: ReturnType<typeof rules.compileAll>,
  added: Parameters<typeof indexed>[0],
  rulesBefore: number,
): { median: number; worst: number } {
  const times = added.map((rule, i) => {
    const started = millisecondsOfCpu();
    matcher.delete([{ id: String(7 * i) }]);
    matcher.add([{ value: ruleText(rule), id: String(rulesBefore + i) }]);
    return millisecondsOfCpu() - started;
  });
  return { median: median(times), worst: Math.max(...times) };
}

function table(
  rows: readonly Row[],
  ours: { few: number; many: number },
  manyRules: number,
): string[] {
  const few = FEW.toLocaleString('en');
  const many = manyRules.toLocaleString('en');
  return [
    ['', `${few} rules, posts/s`, 'time / ours', `${many} rules, posts/s`, 'time / ours'],
    ['---', '---:', '---:', '---:', '---:'],
    ...rows.map(({ name, note = '', ...rate }) => [
      name,
      rounded(rate.few),
      rounded(ours.few / rate.few),
      rounded(rate.many) + note,
      rounded(ours.many / rate.many),
    ]),
  ].map(cells => `| ${cells.join(' | ')} |`);
}

function rounded(value: number): string {
  return Number(value.toPrecision(3)).toLocaleString('en', { maximumFractionDigits: 20 });
}
