/** Words that are too common to be the only condition of a rule. */
export const stopWords: ReadonlySet<string> = new Set(
  (
    'a an and at but by com from http https if in is it its me my not or rt the this to too via we ' +
    'www you'
  ).split(' '),
);
