/** Credentials of an account, where a test does not look at them. */
export const LOGIN = { email: 'me@acme.test', password: 'secret-password' };
