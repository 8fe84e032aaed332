import places from './places.json' with { type: 'json' };

/** A city with the names that posts and profiles use. */
export interface SamplePlace {
  readonly name: string;
  readonly region: string;
  readonly country: string;
  /** ISO 3166-1 alpha-2. */
  readonly code: string;
  /** Degrees, longitude first. */
  readonly center: readonly [number, number];
  /** Hours ahead of UTC, without summer time. */
  readonly utcOffset: number;
  /** 16 hexadecimal digits. */
  readonly id: string;
}

/** Only ever append: the posts of a seed depend on the order. */
export const PLACES: readonly SamplePlace[] = places.map((place, index) => ({
  ...place,
  center: place.center as [number, number],
  id: (0x5a1b_0000_0000_0000n + BigInt(index) * 0x0000_0f3d_91c7_2b05n).toString(16),
}));
