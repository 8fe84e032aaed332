declare module 'lucene' {
  const parser: { parse(query: string): object };
  export default parser;
}

declare module 'lucene-filter' {
  /** A query to a function that gives how well an object matches: above 0 if it does. */
  export default function factory(parser: object): (query: string) => (data: object) => number;
}
