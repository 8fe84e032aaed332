import type { OAuthProvider } from '../oauth/oauth-provider.js';
import { searchErrorBody } from '../refusal.js';
import type { Route } from '../router.js';
import type { ConsoleParts } from './console/console-page.js';
import { consoleRoutes } from './console/console-routes.js';
import { ICON_PATH, STYLE_PATH } from './layout.js';
import { assetAnswer } from './page-answer.js';
import { statusRoutes } from './status-routes.js';
import { ICON, STYLE_SHEET } from './style-sheet.js';
import { userRoutes } from './user/user-routes.js';

export interface PageParts extends ConsoleParts {
  readonly oauth: OAuthProvider;
}

/** Everything that people see: the console, the status page, and the sign-in of users. */
export function pageRoutes(parts: PageParts): readonly Route[] {
  const asset = (pattern: string, type: string, text: string): Route => ({
    endpoint: 'pages',
    methods: ['GET'],
    pattern,
    errorBody: searchErrorBody,
    handle: () => assetAnswer(type, text),
  });
  return [
    asset(STYLE_PATH, 'text/css; charset=utf-8', STYLE_SHEET),
    asset(ICON_PATH, 'image/svg+xml', ICON),
    // What browsers ask for by themselves.
    asset('/favicon.ico', 'image/svg+xml', ICON),
    ...statusRoutes(parts.context),
    ...userRoutes(parts),
    ...consoleRoutes(parts),
  ];
}
