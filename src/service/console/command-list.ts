import { SECTIONS, type Visit } from './console-page.js';
import { type ListedEndpoint, listedEndpoints } from './endpoint-list.js';
import { type Html, html } from './html/html.js';
import { breakable, command } from './html/page-parts.js';

/** The addresses of a page with commands for curl and Millrace, closed below what the page shows. */
export function commandList({ addresses, context }: Visit, page: keyof typeof SECTIONS): Html {
  const endpoints = listedEndpoints(addresses, context.clock.now());
  const others = endpoints.filter(({ section }) => section !== page);
  return html`<details class="card commands" id="commands"><summary><h2>Addresses and commands</h2></summary>
<p class="quiet">For a shell that has the <a href="/console#start">variables of the overview</a>; Millrace in any folder where it is installed.</p>
${endpoints.filter(({ section }) => section === page).map(commandsOf)}
${page === 'overview' && html`<section class="stack"><h3>Other addresses</h3><ul class="stack">${others.map(linkOf)}</ul></section>`}</details>`;
}

/** What a page without rows shows: how to get the first one. */
export function emptyPage(
  { addresses, context }: Visit,
  page: keyof typeof SECTIONS,
  text: string,
): Html {
  const endpoints = listedEndpoints(addresses, context.clock.now());
  const first = endpoints.find(({ section }) => section === page);
  return html`<section class="card" aria-label="Nothing yet"><p>${text} In a shell that has the <a href="/console#start">variables of the overview</a>, this makes one:</p>
${command('curl', first?.curl ?? '')}</section>`;
}

function commandsOf({ name, method, address, curl, millrace, typescript }: ListedEndpoint): Html {
  return html`<section class="stack"><h3>${name}</h3>
${addressOf(method, address)}
${
  curl === undefined
    ? html`<p class="hint">Requests of applications are signed (OAuth 1.0a), which curl cannot do.</p>`
    : command('curl', curl)
}${command('Millrace', millrace, typescript)}</section>`;
}

/** An address of another page. */
function linkOf({ section, name, method, address }: ListedEndpoint): Html {
  return html`<li><a href="${SECTIONS[section][1]}#commands">${name}</a>${addressOf(method, address)}</li>`;
}

function addressOf(method: string, address: string): Html {
  return html`<p><span class="method">${method}</span> <code class="address">${breakable(address)}</code></p>`;
}
