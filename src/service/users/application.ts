import type { OAuthSettings } from './oauth-options.js';

/** An application as users and the console see it. */
export interface Application {
  /** Digits, as in the URL of its page on the developer site. */
  readonly id: string;
  readonly key: string;
  readonly name: string;
  readonly websiteUrl: string;
  /** Whether the operator has approved its access to engagement totals. */
  readonly approved: boolean;
}

/** With the secret, which only the application knows. */
export interface RegisteredApplication {
  readonly application: Application;
  readonly secret: string;
}

/** The two applications of every service: one approved, one not. */
export function registeredApplications(settings: OAuthSettings): readonly RegisteredApplication[] {
  const { consumerKey, consumerSecret, unapprovedConsumerKey, unapprovedConsumerSecret } = settings;
  return [
    {
      application: {
        id: '10000001',
        key: consumerKey,
        name: 'Local application',
        websiteUrl: 'http://127.0.0.1/',
        approved: true,
      },
      secret: consumerSecret,
    },
    {
      application: {
        id: '10000002',
        key: unapprovedConsumerKey,
        name: 'Unapproved application',
        websiteUrl: 'http://127.0.0.1/',
        approved: false,
      },
      secret: unapprovedConsumerSecret,
    },
  ];
}
