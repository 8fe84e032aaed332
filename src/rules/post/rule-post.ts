import type { Activity } from '../../post/activity.js';
import type { PostFields } from '../../post/post-fields.js';
import { fieldsOf } from '../../post/read-fields.js';
import { type Dialect, dialectOf, type RuleProduct } from './dialect.js';
import { type Tokens, tokenise } from './tokeniser.js';

export type ReadTexts = (fields: PostFields) => readonly string[];

/**
 * A post as rules read it, whether its format is `original` or `activity_streams`. Each string is split into
 * tokens when it is first used.
 */
export class RulePost {
  readonly fields: PostFields;
  readonly dialect: Dialect;
  #parts: readonly PostFields[] | undefined;
  #texts: readonly Tokens[] | undefined;
  #addresses: readonly Tokens[] | undefined;
  #displays: readonly Tokens[] | undefined;
  #fields: Map<ReadTexts, readonly Tokens[]> | undefined;

  constructor(fields: PostFields, dialect: Dialect) {
    this.fields = fields;
    this.dialect = dialect;
  }

  /** The post itself. If the dialect reads quoted posts, also the post that it quotes. */
  get parts(): readonly PostFields[] {
    if (this.#parts === undefined) {
      const quoted = this.dialect.readsQuoted ? this.fields.quoted : undefined;
      this.#parts = quoted === undefined ? [this.fields] : [this.fields, quoted];
    }
    return this.#parts;
  }

  get texts(): readonly Tokens[] {
    this.#texts ??= this.parts.map(part => tokenise(part.text, this.dialect.accents));
    return this.#texts;
  }

  get addresses(): readonly Tokens[] {
    this.#addresses ??= this.#tokens(
      this.parts.flatMap(part => part.links.flatMap(link => [link.expanded, link.unwound])),
    );
    return this.#addresses;
  }

  get displays(): readonly Tokens[] {
    this.#displays ??= this.#tokens(
      this.parts.flatMap(part => part.links.map(link => link.display)),
    );
    return this.#displays;
  }

  /**
   * Returns the tokens of a field, without empty strings. Caches the result under the function `read`, so
   * always pass the same function for the same field.
   */
  field(read: ReadTexts): readonly Tokens[] {
    this.#fields ??= new Map();
    let tokens = this.#fields.get(read);
    if (tokens === undefined) {
      tokens = this.#tokens(read(this.fields));
      this.#fields.set(read, tokens);
    }
    return tokens;
  }

  #tokens(texts: readonly string[]): readonly Tokens[] {
    return texts.filter(text => text !== '').map(text => tokenise(text, this.dialect.accents));
  }
}

export function rulePost(activity: Activity, product: RuleProduct): RulePost {
  return new RulePost(fieldsOf(activity), dialectOf(product));
}
