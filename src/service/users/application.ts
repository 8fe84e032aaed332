import type { OAuthSettings } from './oauth-options.js';

/** An application as users and the console see it (service.md 2.10, 5). */
export interface Application {
  /** Digits: what its page on the developer site has in its address. */
  readonly id: string;
  readonly key: string;
  readonly name: string;
  readonly websiteUrl: string;
  /** Whether the operator lets it ask for engagement totals. */
  readonly approved: boolean;
}

/** With what no one but the application knows. */
export interface RegisteredApplication {
  readonly application: Application;
  readonly secret: string;
}

/** The two of every service: one that is approved, and one that is not. */
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
