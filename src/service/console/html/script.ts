/**
 * The script of the console. The pages also work without it. With the script, parts with `data-live` follow
 * the service and can be paused, and clocks tick. The problems of a query appear while it is typed.
 * Ctrl+Enter sends a form, and Escape closes the menu. Code has buttons that copy it.
 */
export const SCRIPT = `'use strict';
let loading = new AbortController();
/** The last content of each part. */
const shown = new Map();
for (const part of document.querySelectorAll('[data-live]')) shown.set(part.id, part.innerHTML);
async function load(address) {
  loading.abort();
  loading = new AbortController();
  const response = await fetch(address, { signal: loading.signal });
  if (response.redirected) throw new Error('signed out: load the page again');
  if (!response.ok) throw new Error('the service answers with an error');
  const page = new DOMParser().parseFromString(await response.text(), 'text/html');
  for (const part of page.querySelectorAll('[data-live]')) {
    const old = document.getElementById(part.id);
    if (old === null || shown.get(part.id) === part.innerHTML) continue;
    shown.set(part.id, part.innerHTML);
    if (!isUsed(old)) old.replaceChildren(...part.childNodes);
    else if (!mergeRows(old.querySelector('table'), part.querySelector('table'))) shown.delete(part.id);
    addCopyButtons(old);
  }
}
/** Whether a part is open, focused or selected. Such a part is not replaced. */
function isUsed(node) {
  const { isCollapsed, anchorNode } = getSelection();
  return (!isCollapsed && node.contains(anchorNode)) || node.querySelector('details[open]') !== null || node.contains(document.activeElement);
}
/** Replaces all rows except rows that are used. */
function mergeRows(table, fresh) {
  if (!table?.tBodies[0]?.rows[0].id || fresh === null) return false;
  const kept = new Map();
  for (const body of [...table.tBodies])
    if (isUsed(body)) kept.set(body.rows[0].id, body);
    else body.remove();
  let [at = null] = kept.values();
  for (const body of [...fresh.tBodies]) {
    const same = kept.get(body.rows[0].id);
    if (same === undefined) table.insertBefore(body, at);
    else at = same.nextElementSibling;
  }
  table.caption.replaceChildren(...fresh.caption.childNodes);
  return true;
}

const form = document.querySelector('form[data-check]');
let timer;
form?.addEventListener('input', () => {
  clearTimeout(timer);
  // If the service has stopped, the page stays unchanged.
  const check = () => load(form.action + '?' + new URLSearchParams(new FormData(form)) + '&check=').catch(() => {});
  timer = setTimeout(check, 250);
});
if (form === null && shown.size > 0 && !/[?&]refresh=/.test(location.search)) {
  const line = document.querySelector('.refresh') ?? document.createElement('p');
  const state = document.createElement('span');
  const pause = document.createElement('button');
  line.className = 'refresh';
  state.ariaLive = 'polite';
  pause.className = 'plain';
  line.replaceChildren(state, pause);
  document.querySelector('.lead').append(line);
  let isPaused = false;
  let lostAt;
  const say = (tone, words) => {
    state.className = 'state ' + tone;
    state.textContent = words;
    pause.textContent = isPaused ? 'Continue' : 'Pause';
  };
  say('good', 'live');
  const follow = async () => {
    if (document.hidden || isPaused) return;
    try {
      await load(location.href);
      lostAt = undefined;
      if (!isPaused) say('good', 'live');
    } catch (problem) {
      lostAt ??= new Date().toISOString().slice(11, 19);
      if (!isPaused) say('bad', problem instanceof TypeError ? 'no answer since ' + lostAt + ' UTC' : problem.message);
    }
  };
  // Waits 2 s after each response, because some pages take longer than 2 s to load.
  const followOn = () => follow().finally(() => setTimeout(followOn, 2000));
  setTimeout(followOn, 2000);
  pause.addEventListener('click', () => {
    isPaused = !isPaused;
    say(isPaused ? 'idle' : 'good', isPaused ? 'paused' : 'live');
  });
}
setInterval(() => {
  for (const time of document.querySelectorAll('[data-ticks] time')) {
    const next = new Date(Date.parse(time.dateTime) + 1000).toISOString().replace('.000', '');
    time.dateTime = next;
    time.textContent = next.replace('T', ' ').replace('Z', ' UTC');
  }
}, 1000);
document.addEventListener('keydown', ({ key, ctrlKey, metaKey, target }) => {
  const menu = document.querySelector('.menu[open]');
  if (key === 'Escape' && menu !== null) {
    menu.open = false;
    menu.querySelector('summary').focus();
  }
  if (key !== 'Enter' || !(ctrlKey || metaKey)) return;
  const main = target.form?.querySelector('button.main');
  main?.form.requestSubmit(main);
});

function addCopyButtons(root) {
  // Only pages of this machine and of https may copy.
  if (navigator.clipboard === undefined) return;
  for (const code of root.querySelectorAll('.command code')) {
    const figure = code.closest('figure');
    if (figure.querySelector('figcaption') === null) figure.prepend(document.createElement('figcaption'));
    const caption = figure.querySelector('figcaption');
    const words = code.dataset.copy ?? 'Copy';
    if ([...caption.querySelectorAll('button')].some(one => one.dataset.copy === words)) continue;
    const button = document.createElement('button');
    button.className = 'plain copy';
    button.dataset.copy = button.textContent = words;
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = 'Copied';
    });
    caption.append(' ', button);
  }
}
addCopyButtons(document);
`;
