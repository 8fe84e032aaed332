/** Markup that is safe to send: made by `html` alone. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** What may stand in markup. Text is escaped, lists are joined, what is not there leaves nothing. */
export type HtmlValue =
  | Html
  | string
  | number
  | bigint
  | false
  | null
  | undefined
  | readonly HtmlValue[];

/**
 * Markup with everything escaped that is put into it, so that it can stand between tags and within
 * attributes in quotes.
 *
 * @example
 * html`<a href="${address}">${name}</a>`
 */
export function html(pieces: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  let text = pieces[0] as string;
  values.forEach((value, index) => {
    text += textOf(value) + (pieces[index + 1] as string);
  });
  return new Html(text);
}

/** Text that someone chose: what turns the direction of writing ends where it ends. */
export function isolated(text: string): Html {
  return html`<bdi>${text}</bdi>`;
}

function textOf(value: HtmlValue): string {
  if (value === null || value === undefined || value === false) return '';
  if (value instanceof Html) return value.text;
  if (typeof value === 'object') return value.map(textOf).join('');
  return escaped(String(value));
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  '`': '&#96;',
};

/**
 * Control characters have no place in a page either, but for tabs and line ends. Half a surrogate
 * pair becomes U+FFFD when the page is encoded.
 */
function escaped(text: string): string {
  return text
    .replace(/[&<>"'`]/g, character => ENTITIES[character] as string)
    .replace(/[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/g, '\uFFFD');
}
