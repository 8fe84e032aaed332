import { type Html, html } from './html.js';

/** What an action of a page did, or why it failed. */
export interface Message {
  readonly tone: 'good' | 'bad';
  readonly text: string;
}

/** A message with the page and the element that show it. */
export interface Said {
  readonly message: Message;
  readonly path: string;
  readonly id: string;
  /** In milliseconds of real time. */
  readonly until: number;
}

/** The message of the element with an id, if there is one for it. */
export type MessageAt = (id: string) => Html | undefined;

export interface PlacedMessage {
  readonly messageAt: MessageAt;
  /** The message if no element has shown it, for the top of the page. */
  rest(): Html | undefined;
}

/** The message of a page, shown once: in the element that it is about, or at the top if there is none. */
export function placeMessage(said: Said | undefined): PlacedMessage {
  let left = said;
  const take = () => {
    const taken = left;
    left = undefined;
    return taken && messageBox(taken.message);
  };
  return { messageAt: id => (left?.id === id ? take() : undefined), rest: take };
}

/** A message as markup, read out by screen readers. */
export function messageBox({ tone, text }: Message, id?: string): Html {
  return tone === 'good'
    ? html`<p class="notice" role="status">${text}</p>`
    : html`<p class="alarm" role="alert"${id !== undefined && html` id="${id}"`}>${text}</p>`;
}
