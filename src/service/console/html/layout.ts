import { createHash } from 'node:crypto';
import { Html, type HtmlValue, html } from './html.js';
import { ICON, STYLE_SHEET } from './style-sheet.js';

export interface Layout {
  readonly title: HtmlValue;
  /** Below the heading. */
  readonly lead?: HtmlValue;
  readonly body: HtmlValue;
  /** The part of the service that the page belongs to, shown after its name. */
  readonly area: string;
  /** The link of the name. */
  readonly home: string;
  /** `wide` puts the menu at the side. */
  readonly shape: 'wide' | 'medium' | 'narrow';
  readonly menu?: Menu | undefined;
  /** At the top right, in place of a menu. */
  readonly corner?: HtmlValue;
  /** What the last action said, if no part of the body shows it. */
  readonly message?: HtmlValue;
}

/** The pages of an area: on a phone closed, at the side of a wide screen. */
export interface Menu {
  /** The name of the current page. */
  readonly current: string;
  /** The links, and what else belongs to each page. */
  readonly entries: HtmlValue;
}

/** The URL has a digest of the style sheet, so that browsers do not use an old one from their cache. */
export const STYLE_PATH = '/pages/style.css';
export const ICON_PATH = '/pages/icon.svg';
const styleAddress = `${STYLE_PATH}?v=${createHash('sha256').update(STYLE_SHEET).digest('hex').slice(0, 12)}`;

/** A whole page. */
export function layout(page: Layout): Html {
  const { title, lead, body, area, home, shape, menu, corner, message } = page;
  return html`${new Html('<!DOCTYPE html>')}
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${textOf(title)} · Millrace ${area}</title>
<link rel="stylesheet" href="${styleAddress}">
<link rel="icon" href="${ICON_PATH}" type="image/svg+xml">
</head>
<body class="${shape}">
<a class="skip" href="#main">Skip to content</a>
<header class="top">
<a class="brand" href="${home}">${wheel}<span>Millrace <span>${area}</span></span></a>
${corner}
${
  menu !== undefined &&
  html`<details class="menu"><summary>Menu <span class="here">${menu.current}</span></summary><div>${menu.entries}</div></details>
<div class="side">${menu.entries}</div>`
}
</header>
<main id="main" tabindex="-1">
${message}
<div class="lead"><h1>${title}</h1>${lead}</div>
${body}
</main>
<footer class="foot">The local service of Millrace, on this machine only.</footer>
</body>
</html>
`;
}

const wheel = new Html(
  ICON.replace('<svg ', '<svg aria-hidden="true" ').replace('#0a8a84', 'currentColor'),
);

/** The title element allows only text. */
function textOf(title: HtmlValue): Html {
  return new Html(html`${title}`.text.replace(/<[^>]*>/g, ''));
}
