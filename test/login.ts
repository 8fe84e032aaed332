/** Credentials for tests that do not check them. */
export const LOGIN = { email: 'me@acme.test', password: 'secret-password' };
