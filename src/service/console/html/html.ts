/** Safe markup. Only `html` escapes values; the constructor takes markup without escaping it. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A value in markup. Text is escaped, lists are joined, and `false`, `null` and `undefined` are skipped. */
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
 * Creates markup in which all inserted values are escaped. Values may stand between tags and in quoted
 * attributes.
 *
 * @example
 * html`<a href="${address}">${name}</a>`
 */
export function html(strings: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  let text = strings[0] as string;
  values.forEach((value, index) => {
    text += textOf(value) + (strings[index + 1] as string);
  });
  return new Html(text);
}

/** Puts text from users in a `bdi` element, so that its direction does not affect the text around it. */
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
 * Escapes markup, and replaces control characters, except tabs and line ends, with U+FFFD. Lone surrogates
 * are replaced when the page is encoded.
 */
function escaped(text: string): string {
  return text
    .replace(/[&<>"'`]/g, character => ENTITIES[character] as string)
    .replace(/[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/g, '\uFFFD');
}
