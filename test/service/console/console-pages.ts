/** The pages in the menu. They require a sign-in. */
export const PAGES = [
  '/console',
  '/console/explore',
  '/console/explore/rules',
  '/console/jobs',
  '/console/streams',
  '/console/streams/rules',
  '/console/compliance',
  '/console/usage',
  '/console/requests',
  '/console/faults',
];
