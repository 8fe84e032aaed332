/**
 * Makes objects whose members are read from a source when they are used. They have one class, whose prototype has the
 * getters: defining these for each object would take longer than reading it.
 */
export function viewOf<Source, Fields extends object>(
  readers: {
    readonly [Name in keyof Fields]: (source: Source) => Fields[Name];
  },
): (source: Source) => Fields {
  class View {
    readonly #source: Source;

    static {
      for (const [name, read] of Object.entries<(source: Source) => unknown>(readers))
        Object.defineProperty(View.prototype, name, {
          get(this: View) {
            return read(this.#source);
          },
        });
    }

    constructor(source: Source) {
      this.#source = source;
    }
  }
  return source => new View(source) as unknown as Fields;
}
