/**
 * What pages of the console have in addition where scripts run: parts with `data-live` follow the service, the problems of a
 * query appear while it is typed, and commands have a button that copies them.
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
  const page = new DOMParser().parseFromString(await response.text(), 'text/html');
  for (const part of page.querySelectorAll('[data-live]')) {
    const old = document.getElementById(part.id);
    if (old === null || shown.get(part.id) === part.innerHTML) continue;
    // What someone has opened, uses or has selected stays.
    const { isCollapsed, anchorNode } = getSelection();
    const isSelected = !isCollapsed && old.contains(anchorNode);
    if (isSelected || old.querySelector('details[open]') !== null || old.contains(document.activeElement)) continue;
    shown.set(part.id, part.innerHTML);
    old.replaceChildren(...part.childNodes);
    addCopyButtons(old);
  }
}
// A service that has stopped leaves the page as it is.
const follow = address => load(address).catch(() => {});

const form = document.querySelector('form[data-check]');
let timer;
form?.addEventListener('input', () => {
  clearTimeout(timer);
  const check = () => follow(form.action + '?' + new URLSearchParams(new FormData(form)) + '&check=');
  timer = setTimeout(check, 250);
});
if (form === null && document.querySelector('[data-live]') !== null && !/[?&]refresh=/.test(location.search)) {
  document.querySelector('.refresh')?.remove();
  // After the last one has come: some pages take longer than this.
  const followOn = async () => {
    if (!document.hidden) await follow(location.href);
    setTimeout(followOn, 2000);
  };
  setTimeout(followOn, 2000);
}

function addCopyButtons(root) {
  // Only pages of this machine and of https may copy.
  if (navigator.clipboard === undefined) return;
  for (const caption of root.querySelectorAll('.command > figcaption')) {
    const button = document.createElement('button');
    button.className = 'plain copy';
    button.textContent = 'Copy';
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(caption.parentElement.querySelector('code').textContent);
      button.textContent = 'Copied';
    });
    caption.append(' ', button);
  }
}
addCopyButtons(document);
`;
