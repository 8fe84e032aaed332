export const STYLE_SHEET = `
:root {
  color-scheme: light dark;
  --ground: light-dark(#f5f7f7, #101615);
  --surface: light-dark(#ffffff, #182120);
  --sunken: light-dark(#eef2f2, #0c1110);
  --ink: light-dark(#17201f, #e4ebea);
  --quiet: light-dark(#53605f, #9fb0ae);
  --line: light-dark(#d7dedd, #2d3a38);
  --accent: light-dark(#0a6a66, #5fd0c5);
  --on-accent: light-dark(#ffffff, #05211f);
  --good: light-dark(#17683a, #80d8a0);
  --good-ground: light-dark(#e0f3e7, #143322);
  --busy: light-dark(#0b5c8a, #86c7f3);
  --busy-ground: light-dark(#e0effa, #10304a);
  --warn: light-dark(#7a4f00, #f0c263);
  --warn-ground: light-dark(#fcf0d3, #3a2c0b);
  --bad: light-dark(#a3221b, #ffa49b);
  --bad-ground: light-dark(#fce6e4, #46191a);
  --mono: ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body {
  margin: 0;
  background: var(--ground);
  color: var(--ink);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif;
  overflow-wrap: anywhere;
}
h1, h2, h3, p, ul, ol, dl, dd, pre, figure, table { margin: 0; padding: 0; }
button, .button, summary { white-space: nowrap; overflow-wrap: normal; }
h1 { font-size: 1.6rem; line-height: 1.2; letter-spacing: -0.01em; }
h2 { font-size: 1.15rem; line-height: 1.3; }
h3 { font-size: 1rem; line-height: 1.35; }
ul, ol { list-style: none; }
a { color: var(--accent); text-underline-offset: 0.15em; text-decoration-thickness: 1px; }
code, pre { font-family: var(--mono); font-size: 0.875em; }
time, .number { font-variant-numeric: tabular-nums; }
time { white-space: nowrap; }
.headline time, .facts time, small time { white-space: normal; }
small, .quiet { color: var(--quiet); font-size: 0.9rem; }
:focus-visible, [type=datetime-local]:focus-within { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
.unseen {
  position: absolute; width: 1px; height: 1px; margin: -1px; overflow: hidden;
  clip-path: inset(50%); white-space: nowrap;
}
.skip { position: absolute; left: -100vw; top: 0; padding: 0.6rem 1rem; background: var(--surface); z-index: 1; }
.skip:focus { left: 0; }

/* Frame */
.top { position: relative; display: flex; align-items: center; gap: 0.5rem 1rem; min-height: 3.5rem; padding: 0.4rem 1rem; background: var(--surface); border-bottom: 1px solid var(--line); }
.brand { display: flex; align-items: center; gap: 0.55rem; margin-right: auto; color: inherit; font-weight: 650; text-decoration: none; white-space: nowrap; }
.brand svg { width: 1.6rem; height: 1.6rem; color: var(--accent); flex: none; }
.brand span span { color: var(--quiet); font-weight: 400; }
.top nav ul { display: grid; gap: 0.15rem; }
.top nav a { display: block; padding: 0.45rem 0.75rem; border-radius: 0.5rem; color: var(--ink); text-decoration: none; }
.top nav a:hover { background: var(--sunken); }
.top nav [aria-current] { background: var(--sunken); color: var(--accent); font-weight: 650; box-shadow: inset 3px 0 var(--accent); }
.top form { gap: 0.5rem; justify-items: start; }
.who { color: var(--quiet); font-size: 0.88rem; }
.side { display: none; }
.menu > summary { width: auto; display: flex; align-items: center; gap: 0.5rem; min-height: 2.75rem; padding: 0 0.8rem; border: 1px solid var(--line); border-radius: 0.5rem; color: var(--ink); font-weight: 600; font-size: 0.95rem; }
.menu > summary::after { content: "\u25be"; color: var(--quiet); }
.menu[open] > summary { margin: 0; }
.menu[open] > summary::after { content: "\u25b4"; }
.menu > summary::-webkit-details-marker { display: none; }
.menu { min-width: 0; }
.here { min-width: 0; overflow: hidden; text-overflow: ellipsis; color: var(--quiet); font-weight: 400; }
.menu > div { position: absolute; z-index: 2; inset: 100% 0 auto; display: grid; gap: 0.9rem; padding: 0.75rem 1rem 1rem; background: var(--surface); border-bottom: 1px solid var(--line); box-shadow: 0 12px 24px rgb(0 0 0 / 0.25); }
.menu nav ul { grid-template-columns: 1fr 1fr; }
.menu form { padding: 0 0.75rem; }
main { padding: 1.25rem 1rem 3rem; max-width: 68rem; display: grid; grid-template-columns: minmax(0, 1fr); gap: 1.25rem; }
main:focus { outline: none; }
.narrow main { max-width: 27rem; margin: 0 auto; padding-top: 2rem; }
.lead { display: grid; grid-template-columns: minmax(0, 1fr); gap: 0.35rem 1rem; }
.lead p { color: var(--quiet); max-width: 46rem; }
.refresh { display: flex; flex-wrap: wrap; align-items: center; gap: 0.2rem 1rem; font-size: 0.92rem; }
.foot { padding: 0 1rem 2rem; color: var(--quiet); font-size: 0.85rem; max-width: 68rem; }
.narrow .foot { max-width: 27rem; margin: 0 auto; }

/* Parts of a page */
.card { background: var(--surface); border: 1px solid var(--line); border-radius: 0.75rem; padding: 1rem; display: grid; grid-template-columns: minmax(0, 1fr); gap: 0.8rem; }
.card > header { display: flex; flex-wrap: wrap; align-items: baseline; justify-content: space-between; gap: 0.35rem 0.75rem; }
.stack { display: grid; grid-template-columns: minmax(0, 1fr); gap: 0.8rem; }
.notice, .alarm { border-radius: 0.6rem; padding: 0.7rem 0.9rem; border: 1px solid; }
.notice { background: var(--good-ground); color: var(--good); }
.alarm { background: var(--bad-ground); color: var(--bad); }
.empty { color: var(--quiet); padding: 0.5rem 0; }
.state { display: inline-flex; align-items: center; gap: 0.4em; padding: 0.1rem 0.6rem; border-radius: 1rem; font-size: 0.85rem; font-weight: 600; white-space: nowrap; background: var(--sunken); color: var(--quiet); }
.state::before { content: ""; width: 0.55em; height: 0.55em; border-radius: 50%; background: currentColor; }
.good { background: var(--good-ground); color: var(--good); }
.busy { background: var(--busy-ground); color: var(--busy); }
.warn { background: var(--warn-ground); color: var(--warn); }
.bad { background: var(--bad-ground); color: var(--bad); }
.warn::before { border-radius: 0; rotate: 45deg; scale: 0.9; }
.bad::before { border-radius: 0; }
.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(9rem, 100%), 1fr)); gap: 0.6rem 0.75rem; }
.facts dt { color: var(--quiet); font-size: 0.85rem; }
.facts dd { font-size: 0.95rem; font-variant-numeric: tabular-nums; }
.headline { font-size: 1.3rem; font-weight: 600; line-height: 1.2; font-variant-numeric: tabular-nums; }
progress { width: 100%; height: 0.5rem; accent-color: var(--accent); }
meter { width: 5rem; height: 0.8rem; vertical-align: middle; }

/* Commands: a click selects a whole command */
.command { display: grid; grid-template-columns: minmax(0, 1fr); gap: 0.25rem; }
.command figcaption { color: var(--quiet); font-size: 0.85rem; }
button.copy { min-height: 1.75rem; padding: 0 0.5rem; font-size: 0.8rem; }
.command pre { background: var(--sunken); border: 1px solid var(--line); border-radius: 0.5rem; padding: 0.6rem 0.75rem; white-space: pre-wrap; overflow-wrap: anywhere; }
.command code, .address { user-select: all; -webkit-user-select: all; cursor: copy; }
.address { display: inline-block; font-family: var(--mono); font-size: 0.85rem; }
.method { font-family: var(--mono); font-size: 0.8rem; font-weight: 600; color: var(--quiet); }
.second { display: block; white-space: nowrap; font-weight: 400; color: var(--quiet); font-size: 0.82rem; }
details > summary { cursor: pointer; color: var(--accent); padding: 0.3rem 0; width: fit-content; }
details[open] > summary { margin-bottom: 0.4rem; }
.commands { display: block; }
.commands > summary { width: auto; padding: 0; color: var(--ink); }
.commands > summary h2 { display: inline; }
.commands > * + * { margin-top: 0.9rem; }
.commands > section { border-top: 1px solid var(--line); padding-top: 0.9rem; gap: 0.5rem; }

.stack:has(> .card) { gap: 1.25rem; }

/* Rules and posts */
.problem { padding: 0.6rem 0.75rem; border-radius: 0.5rem; overflow-x: auto; }
.problem:not(.bad, .warn) { background: var(--sunken); }
.post { display: grid; grid-template-columns: minmax(0, 1fr); gap: 0.35rem; }
.post + .post { border-top: 1px solid var(--line); padding-top: 0.8rem; }
.post > .row { gap: 0 0.5rem; }
.post > .row time { color: var(--quiet); font-size: 0.85rem; }
.text { white-space: pre-wrap; max-width: 46rem; }
.entity { color: var(--accent); }
mark { background: var(--warn-ground); color: var(--warn); border-radius: 0.2rem; padding: 0 0.1em; }
.medium { display: grid; place-items: center; width: 6rem; height: 4rem; background: var(--sunken); border: 1px solid var(--line); border-radius: 0.5rem; color: var(--quiet); font-size: 0.85rem; }
blockquote { margin: 0; padding-left: 0.8rem; border-left: 3px solid var(--line); font-size: 0.92rem; }
.json { max-height: 24rem; overflow-y: auto; }

/* Tables */
table { width: 100%; border-collapse: collapse; font-size: 0.92rem; }
caption { text-align: left; color: var(--quiet); font-size: 0.85rem; padding-bottom: 0.4rem; }
th { text-align: left; font-weight: 600; }
th code { font-weight: 400; }
th small, td small { display: block; font-weight: 400; }
td, th { padding: 0.45rem 1.1rem 0.45rem 0; vertical-align: top; }
td:last-child, th:last-child { padding-right: 0; }
thead th { color: var(--quiet); font-size: 0.82rem; font-weight: 600; white-space: nowrap; border-bottom: 1px solid var(--line); overflow-wrap: normal; }
tbody + tbody tr:first-child { border-top: 1px solid var(--line); }
.said td { padding-top: 0; }
.said > td > details { margin-top: -0.4rem; font-size: 0.85rem; }
td.number, th.number { text-align: right; white-space: nowrap; }
[id]:target { scroll-margin-top: 1rem; }
.once, .method, .flag { white-space: nowrap; }
.long { display: block; max-height: 9.2em; overflow-y: auto; font-size: 0.8rem; }
@media (max-width: 23.99rem) { .wide .brand span span { display: none; } }
@media (min-width: 48rem) { .word { white-space: nowrap; } }
/* On a phone, the first line of a row has its header and state, and the lines below have the other cells */
@media (max-width: 47.99rem) {
  table, caption, tbody { display: block; }
  thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  tbody tr { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0.15rem 0.7rem; padding: 0.55rem 0; font-size: 0.88rem; }
  thead + tbody tr:first-child { border-top: 1px solid var(--line); }
  tbody tr:has(+ .said) { padding-bottom: 0; }
  tbody tr.said { padding-top: 0; }
  td, tbody th { padding: 0; max-width: 100%; text-align: left; }
  tbody th { flex: 1 1 100%; }
  tr:has(> .beside) > th { flex: 1 1 6rem; }
  td.number { text-align: left; white-space: normal; }
  td.none { display: none; }
  .said td, td:has(> .long) { flex: 1 1 100%; }
  td[data-label]::before { content: attr(data-label) " "; color: var(--quiet); font-size: 0.85rem; text-transform: lowercase; }
  td small { display: inline; }
  td div { display: inline; }
  td div:not(:last-child)::after { content: ", "; }
  tbody code { font-size: 0.75rem; }
  meter { display: none; }
  .once, td .state { white-space: normal; }
  .second { display: inline; }
}

/* Forms */
.fields { display: grid; grid-template-columns: minmax(0, 1fr); gap: 0.9rem 1.25rem; align-items: start; }
form { display: grid; grid-template-columns: minmax(0, 1fr); gap: 0.9rem; }
fieldset { border: 0; margin: 0; padding: 0; min-width: 0; display: grid; grid-template-columns: minmax(0, 1fr); gap: 0.9rem; }
legend { font-weight: 600; padding: 0; margin-bottom: 0.4rem; }
.field { display: grid; grid-template-columns: minmax(0, 1fr); gap: 0.25rem; }
.field > .alarm { margin-top: 0.4rem; }
.field > label { font-weight: 600; font-size: 0.95rem; }
.hint { color: var(--quiet); font-size: 0.85rem; }
input, select, button, textarea { font: inherit; color: inherit; }
textarea { font-family: var(--mono); font-size: 0.9rem; resize: vertical; }
input:not([type=checkbox]), select, textarea { width: 100%; min-height: 2.75rem; padding: 0.5rem 0.7rem; background: var(--surface); border: 1px solid var(--quiet); border-radius: 0.5rem; }
input[type=checkbox] { width: 1.2rem; height: 1.2rem; margin: 0; accent-color: var(--accent); }
.check { display: flex; align-items: center; gap: 0.6rem; min-height: 2.75rem; }
.check label { font-weight: 400; }
[aria-invalid=true] { border-color: var(--bad) !important; }
button, .button { display: inline-flex; align-items: center; justify-content: center; min-height: 2.75rem; padding: 0.45rem 1.1rem; border: 1px solid var(--accent); border-radius: 0.5rem; background: var(--surface); color: var(--accent); font-weight: 600; text-decoration: none; cursor: pointer; }
button:hover, .button:hover { filter: brightness(0.96); }
button.main { background: var(--accent); color: var(--on-accent); }
button.danger { border-color: var(--bad); color: var(--bad); }
.plain { min-height: 2.25rem; padding: 0.25rem 0.7rem; border-color: var(--line); color: var(--ink); font-weight: 500; font-size: 0.92rem; }
.row { display: flex; flex-wrap: wrap; gap: 0.6rem; align-items: center; }
.tight { gap: 0.4rem; }
.joined { display: flex; gap: 0.4rem; }
.joined input { min-width: 0; }
.row .state { white-space: normal; }
.pills { display: flex; flex-wrap: wrap; gap: 0.4rem; }
.pills a { display: block; padding: 0.35rem 0.8rem; border: 1px solid var(--line); border-radius: 1.2rem; color: var(--ink); text-decoration: none; font-size: 0.92rem; background: var(--surface); }
.pills [aria-current] { background: var(--sunken); border-color: var(--accent); color: var(--accent); font-weight: 600; }
.pin { font: 700 1.5rem/1.3 var(--mono); text-align: center; padding: 1rem; border: 2px dashed var(--accent); border-radius: 0.75rem; user-select: all; -webkit-user-select: all; }
.allows { list-style: disc; padding-left: 1.2rem; }
.allows.not { color: var(--quiet); }

/* Charts */
.chart svg { display: block; width: 100%; overflow: visible; }
.chart text { fill: var(--quiet); font: 12px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
@media (max-width: 34rem) { .chart .minor { display: none; } }
.chart .grid { stroke: var(--line); }
/* The scale has a separate column */
.chart:has(.scale) { padding-left: 3.2rem; }
.chart a:hover rect, .chart a:focus rect { fill-opacity: 0.75; }
.chart .hit { fill: transparent; }
.bar { fill: var(--accent); }
.projected { fill: none; stroke: var(--accent); stroke-dasharray: 4 3; stroke-width: 1.5; }
.alert { stroke: var(--warn); stroke-dasharray: 6 4; stroke-width: 1.5; }
.cap { stroke: var(--bad); stroke-width: 1.5; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(8.5rem, 1fr)); gap: 1rem 1.5rem; }
.tiles a { display: block; color: var(--quiet); font-size: 0.85rem; }
.tiles .headline { color: var(--ink); }
.legend { display: flex; flex-wrap: wrap; gap: 0.3rem 1.1rem; font-size: 0.88rem; }
.legend li { display: flex; align-items: center; gap: 0.45rem; }
.legend svg { width: 0.9rem; height: 0.9rem; flex: none; }

@media (min-width: 40rem) {
  .lead:has(.refresh) { grid-template-columns: minmax(0, 1fr) auto; align-items: baseline; }
  .lead .refresh { grid-area: 1 / 2; }
  td form { width: max-content; }
  .headline { font-size: 1.5rem; }
  .facts { grid-template-columns: repeat(auto-fill, minmax(13rem, 1fr)); }
  .fields { grid-template-columns: repeat(auto-fill, minmax(15rem, 1fr)); }
  form > button:not(.main) { justify-self: start; }
}
@media (min-width: 64rem) {
  .wide { display: grid; grid-template-columns: 14rem minmax(0, 1fr); grid-template-rows: auto 1fr; min-height: 100vh; }
  .wide .top { grid-row: 1 / 3; display: block; padding: 0 1rem; border-bottom: 0; border-right: 1px solid var(--line); }
  .wide .brand { position: sticky; top: 0; margin: 0; height: 4rem; }
  .wide .menu { display: none; }
  .wide .side { position: sticky; top: 4rem; height: calc(100vh - 5rem); overflow-y: auto; display: grid; align-content: space-between; gap: 1.5rem; }
  .wide main { padding: 2rem 2.5rem 3rem; }
  .wide .foot { padding: 0 2.5rem 2rem; }
}
@media print { .top, .foot, button { display: none; } }
`;

export const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="none" stroke="#0a8a84" stroke-width="2" stroke-linecap="round"><circle cx="12" cy="12" r="7"/><circle cx="12" cy="12" r="1.5"/><path d="M12 1.5v9M12 13.5v9M1.5 12h9M13.5 12h9M4.6 4.6l6.3 6.3M13.1 13.1l6.3 6.3M19.4 4.6l-6.3 6.3M10.9 13.1l-6.3 6.3"/></svg>`;
