import { type ConsoleParts, SECTIONS } from './console-page.js';
import { type EndpointGroup, endpointGroups, type ListedEndpoint } from './endpoint-list.js';
import { type Html, html } from './html/html.js';
import { breakable, command } from './html/page-parts.js';

/** The addresses of a page with commands for curl and Millrace, closed below what the page shows. */
export function commandList(
  { addresses, context }: ConsoleParts,
  page: keyof typeof SECTIONS,
): Html {
  const groups = endpointGroups(addresses(), context.clock.now());
  const here = groups.filter(({ section }) => section === page);
  const others = groups.filter(({ section }) => section !== page);
  return html`<details class="card commands" id="commands"><summary><h2>Addresses and commands</h2></summary>
<p class="quiet">For a shell that has the <a href="/console#start">variables of the overview</a>; Millrace in any folder where it is installed.</p>
${here.map(({ endpoints }) => endpoints.map(commandsOf))}
${page === 'overview' && html`<section class="stack"><h3>Other addresses</h3><ul class="stack">${others.map(linksOf)}</ul></section>`}</details>`;
}

/** What a page without rows shows: how to get the first one. */
export function emptyPage(
  { addresses, context }: ConsoleParts,
  page: keyof typeof SECTIONS,
  text: string,
): Html {
  const groups = endpointGroups(addresses(), context.clock.now());
  const first = groups.find(({ section }) => section === page)?.endpoints[0];
  return html`<section class="card" aria-label="Nothing yet"><p>${text} In a shell that has the <a href="/console#start">variables of the overview</a>, this makes one:</p>
${command('curl', first?.curl ?? '')}</section>`;
}

function commandsOf({ name, method, address, curl, millrace }: ListedEndpoint): Html {
  return html`<section class="stack"><h3>${name}</h3>
${addressOf(method, address)}
${
  curl === undefined
    ? html`<p class="hint">Requests of applications are signed (OAuth 1.0a), which curl cannot do.</p>`
    : command('curl', curl)
}${command('Millrace', millrace)}</section>`;
}

/** The addresses of another page. */
function linksOf({ section, endpoints }: EndpointGroup): Html[] {
  const [, page] = SECTIONS[section];
  return endpoints.map(
    ({ name, method, address }) =>
      html`<li><a href="${page}#commands">${name}</a>${addressOf(method, address)}</li>`,
  );
}

function addressOf(method: string, address: string): Html {
  return html`<p><span class="method">${method}</span> <code class="address">${breakable(address)}</code></p>`;
}
