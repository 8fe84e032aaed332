declare module 'lucene' {
  const parser: { parse(query: string): object };
  export default parser;
}

declare module 'lucene-filter' {
  /**
   * Compiles a query to a function that returns how well an object matches. A result above 0 is a
   * match.
   */
  export default function factory(parser: object): (query: string) => (data: object) => number;
}
