/** What faults and messages call the families of endpoints. */
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
/** A family of endpoints, as faults name it. */
export type Endpoint = (typeof ENDPOINTS)[number];
