import { environmentOf, exportLines } from '../account-variables.js';
import type { Addresses } from '../http/addresses.js';
import type { OverviewTotals } from '../http/request-log.js';
import type { LoggedReplay } from '../replay/replay-log.js';
import type { FirstSearch } from '../service-archives.js';
import { clockFace } from './clock-forms.js';
import type { ConsolePage, Visit } from './console-page.js';
import { commandList, firstCommand } from './endpoint-list.js';
import { type Bar, barChart } from './html/bar-chart.js';
import { type Html, html, isolated } from './html/html.js';
import {
  breakable,
  command,
  facts,
  printCount,
  printNumber,
  renderState,
} from './html/page-parts.js';
import { outcomeOf } from './stream-pages.js';

export const overviewPages: readonly ConsolePage[] = [
  {
    pattern: '/console',
    section: 'overview',
    async show(visit) {
      const { addresses, context } = visit;
      return {
        title: 'Overview',
        lead: 'The whole service on this machine. A click or tap on a command or an address selects all of it.',
        body: html`<section class="card" id="clock" data-live aria-labelledby="now"><h2 id="now">Now</h2>${clockFace(context.clock)}${goingOn(visit)}</section>
${lastHour(visit)}
${startCard(addresses, await visit.firstSearch())}
<section class="card" aria-labelledby="account"><h2 id="account">Account</h2>${accountFacts(addresses)}</section>
${commandList(visit, 'overview')}`,
      };
    },
  },
];

const TILES: Readonly<Record<keyof OverviewTotals, readonly [words: string, address: string]>> = {
  requests: ['requests', '/console/requests'],
  posts: ['posts sent', '/console/usage'],
  jobs: ['jobs made', '/console/jobs'],
  connections: ['connections to streams', '/console/streams'],
};
/** The number of bars in a small chart. Each is five minutes. */
const BARS = 12;

function lastHour({ context }: Visit): Html {
  const tiles = Object.entries(TILES).map(([name, [words, address]]) => {
    const values = context.requests.totals.lastHour(name as keyof OverviewTotals, BARS);
    const sum = values.reduce((all, value) => all + value, 0);
    const bars = values.map((value, index): Bar => {
      const minutes = (BARS - index) * (60 / BARS);
      return { label: '', name: `${minutes} to ${minutes - 60 / BARS} minutes ago`, value };
    });
    return html`<div><a href="${address}"><span class="headline">${printNumber(sum)}</span> ${words}</a>
${barChart({ summary: `${printNumber(sum)} ${words} in the last hour, in parts of ${60 / BARS} minutes`, bars, isSmall: true })}</div>`;
  });
  return html`<section class="card" id="last-hour" data-live aria-labelledby="hour"><h2 id="hour">Last hour</h2><div class="tiles">${tiles}</div></section>`;
}

function startCard(addresses: Addresses, first: FirstSearch | undefined): Html {
  return html`<section class="card" id="start" aria-label="Start"><h2>Start</h2>
<p>Paste these variables into a shell, or save them as <code>service.env</code> for <code>${breakable('node --env-file=service.env')}</code>. Scripts then need no options: <code>account()</code> reads them.</p>
${command('Variables', exportLines(environmentOf(addresses)).trimEnd())}
${
  first === undefined
    ? html`<p class="empty">The archive has no posts. Put files with one post a line into its folder, and start the service again.</p>`
    : html`<p>Then ask for some posts:</p>${command('A first search', firstCommand(addresses, first))}`
}</section>`;
}

function accountFacts(addresses: Addresses): Html {
  return facts([
    ['Account', isolated(addresses.account)],
    ['Label of search', isolated(addresses.label)],
    ['Label of replay and its rules', isolated(addresses.streamLabel)],
    ['Label of compliance', isolated(addresses.complianceLabel)],
    ['Publisher', isolated(addresses.publisher)],
    ['Login', isolated(addresses.email)],
    ['Application', applicationOf(addresses.consumerKey, addresses.consumerSecret)],
    [
      'Application without approval',
      applicationOf(addresses.unapprovedConsumerKey, addresses.unapprovedConsumerSecret),
    ],
  ]);
}

function applicationOf(key: string, secret: string): Html {
  return html`<code class="address">${key}</code><br><code class="address">${secret}</code>`;
}

function goingOn({ context, jobs }: Visit): Html {
  const quoted = jobs.jobs.list().filter(({ job }) => job.status === 'quoted').length;
  const faults = context.faults.list().length;
  const { replays: all } = context.replays;
  const replays = all.filter(({ endedAt }) => endedAt === undefined).length;
  return html`<ul class="row">
<li><a href="/console/jobs">${renderState(quoted === 0 ? 'no job waits for you' : `${printCount(quoted, 'job')} to accept or reject`, quoted === 0 ? 'idle' : 'warn')}</a></li>
<li><a href="/console/streams">${renderState(`${printCount(replays, 'replay')} under way`, replays === 0 ? 'idle' : 'busy')}</a></li>
<li><a href="/console/streams">${lastReplay(all)}</a></li>
<li><a href="/console/faults">${renderState(faults === 0 ? 'no faults planted' : `${printCount(faults, 'fault')} planted`, faults === 0 ? 'good' : 'warn')}</a></li>
</ul>`;
}

function lastReplay(replays: readonly LoggedReplay[]): Html {
  const last = replays.find(({ endedAt }) => endedAt !== undefined);
  if (last === undefined) return renderState('no replay has ended', 'idle');
  const [words, tone] = outcomeOf(last);
  return renderState(`last replay: ${words}`, tone);
}
