export const page = (parameters: Record<string, string>) =>
  `/console/explore?${new URLSearchParams(parameters)}`;
