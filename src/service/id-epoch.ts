/** Ids hold the milliseconds since 2010-11-04T01:42:54.657Z, above their lowest 22 bits. */
export const ID_EPOCH = 1_288_834_974_657;
