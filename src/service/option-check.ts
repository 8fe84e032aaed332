/** Whether the value of an option will do, and what a message says that it should have been. */
export type Check = readonly [isGood: (value: unknown) => boolean, expected: string];
