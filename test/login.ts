export const LOGIN = { email: 'me@acme.test', password: 'secret-password' };
