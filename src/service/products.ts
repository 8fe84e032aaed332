/**
 * The products that usage is counted for: each search product, each stream with its replays, and jobs.
 * Stored usage refers to a product by its number.
 */
export const PRODUCTS = {
  '30day': { number: 1, type: 'search' },
  fullarchive: { number: 2, type: 'search' },
  rulestream: { number: 3, type: 'rulestream' },
  sample10: { number: 4, type: 'sample10' },
  firehose: { number: 5, type: 'firehose' },
  mentions: { number: 6, type: 'mentions' },
  historical: { number: 7, type: 'historical' },
} as const;

export type ProductName = keyof typeof PRODUCTS;

export const PRODUCT_NAMES = Object.keys(PRODUCTS) as readonly ProductName[];

export function productOf(number: number): ProductName | undefined {
  return PRODUCT_NAMES.find(name => PRODUCTS[name].number === number);
}
