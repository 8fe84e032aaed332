/** Returns the address of the page that explores posts, with these parameters. */
export const page = (parameters: Record<string, string>) =>
  `/console/explore?${new URLSearchParams(parameters)}`;
