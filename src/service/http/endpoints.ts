/** The names of the families of endpoints in faults and messages. */
export const ENDPOINTS = [
  'search',
  'counts',
  'jobs',
  'job-files',
  'replay',
  'rules',
  'compliance',
  'usage',
  'oauth',
  'engagement',
  'pages',
  'control',
] as const;
/** A family of endpoints, by its name in faults. */
export type Endpoint = (typeof ENDPOINTS)[number];
