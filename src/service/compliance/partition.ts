import { hashText } from './hash-text.js';

/** The number of partitions of the compliance stream. */
export const PARTITIONS = 8;

/** The partition with all events of a user, from 1. */
export function partitionOf(userId: string): number {
  return (hashText(userId) % PARTITIONS) + 1;
}
