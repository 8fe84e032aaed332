import type { Addresses } from '../http/addresses.js';
import { endingOf } from '../replay/info-message.js';
import type { LoggedReplay } from '../replay/replay-log.js';
import { clockFace } from './clock-forms.js';
import type { ConsolePage, ConsoleParts } from './console-page.js';
import { type EndpointGroup, endpointGroups } from './endpoint-list.js';
import { type Html, html, isolated } from './html/html.js';
import { command, countOf, facts, stateOf } from './html/page-parts.js';
import { settingsCommand } from './shell-commands.js';

/** The account, the current activity, and every endpoint with commands to copy. */
export function overviewPages(parts: ConsoleParts): readonly ConsolePage[] {
  const { context } = parts;
  return [
    {
      pattern: '/console',
      section: 'overview',
      show() {
        const addresses = parts.addresses();
        const groups = endpointGroups(addresses, context.clock.now());
        return {
          title: 'Overview',
          lead: 'Your account, and every address that it can use. A click or tap on an address or a command selects the whole of it.',
          body: html`<div class="cards">
<section class="card" aria-labelledby="account"><h2 id="account">Account</h2>${accountFacts(addresses)}</section>
<section class="card" aria-labelledby="now"><h2 id="now">Now</h2>${clockFace(context.clock)}${goingOn(parts)}</section>
<section class="card" aria-labelledby="shell"><h2 id="shell">Once in each shell</h2>
<p class="quiet">The commands below need to know where the service is and who you are. This tells them, and asks for your password.</p>
<details><summary>Settings</summary>${command('bash or zsh', settingsCommand(addresses))}</details>
<p class="hint">The Millrace commands run in any folder where Millrace is installed.</p></section>
${groups.map(groupCard)}
</div>`,
        };
      },
    },
  ];
}

function accountFacts(addresses: Addresses): Html {
  return facts([
    ['Account', isolated(addresses.account)],
    ['Label of search', isolated(addresses.label)],
    ['Label of replay and its rules', isolated(addresses.streamLabel)],
    ['Label of compliance', isolated(addresses.complianceLabel)],
    ['Publisher', isolated(addresses.publisher)],
    ['Login', isolated(addresses.email)],
    ['Application', html`<code>${isolated(addresses.consumerKey)}</code>`],
    ['Its secret', secret(addresses.consumerSecret)],
    [
      'Application without approval',
      html`<code>${isolated(addresses.unapprovedConsumerKey)}</code>`,
    ],
    ['Its secret', secret(addresses.unapprovedConsumerSecret)],
  ]);
}

/** Hidden until the reader opens it. */
function secret(text: string): Html {
  return html`<details><summary>Show</summary><code class="address">${text}</code></details>`;
}

function goingOn({ context, jobs, streams }: ConsoleParts): Html {
  const quoted = jobs.jobs.list().filter(({ job }) => job.status === 'quoted').length;
  const faults = context.faults.list().length;
  const replays = streams.replays.replays.filter(({ endedAt }) => endedAt === undefined).length;
  return html`<ul class="row">
<li><a href="/console/jobs">${stateOf(quoted === 0 ? 'no job waits for you' : `${countOf(quoted, 'job')} to accept or reject`, quoted === 0 ? 'idle' : 'warn')}</a></li>
<li><a href="/console/replays">${stateOf(`${countOf(replays, 'replay')} under way`, replays === 0 ? 'idle' : 'busy')}</a></li>
<li><a href="/console/replays">${lastReplay(streams.replays.replays)}</a></li>
<li><a href="/console/faults">${stateOf(faults === 0 ? 'no faults planted' : `${countOf(faults, 'fault')} planted`, faults === 0 ? 'good' : 'warn')}</a></li>
</ul>`;
}

/** The last message of the last replay that ended. */
function lastReplay(replays: readonly LoggedReplay[]): Html {
  const last = replays.find(({ endedAt }) => endedAt !== undefined);
  if (last === undefined) return stateOf('no replay has ended', 'idle');
  const { end } = last;
  if (end === undefined) return stateOf('last replay: cut off before its last message', 'bad');
  const isWhole = end.unprocessed === undefined && end.minutesFailed.length === 0;
  return stateOf(`last replay: ${endingOf(end)}`, isWhole ? 'good' : 'warn');
}

function groupCard({ id, name, about, endpoints }: EndpointGroup): Html {
  return html`<section class="card" aria-labelledby="${id}"><header><h2 id="${id}">${name}</h2></header><p class="quiet">${about}</p>
${endpoints.map(
  endpoint => html`<div class="endpoint"><h3>${endpoint.name}</h3>
<p><span class="method">${endpoint.method}</span> <code class="address">${endpoint.address}</code></p>
<details><summary>Commands<span class="unseen"> for ${endpoint.name}</span></summary><div class="stack">${endpoint.curl === undefined ? html`<p class="hint">Requests of applications are signed (OAuth 1.0a), which curl cannot.</p>` : command('curl', endpoint.curl)}${command('Millrace', endpoint.millrace)}</div></details></div>`,
)}</section>`;
}
