import { searchErrorBody } from '../http/http-problem.js';
import type { Route } from '../http/router.js';
import type { OAuthProvider } from '../users/oauth-provider.js';
import type { ConsoleParts } from './console-page.js';
import { consoleRoutes } from './console-routes.js';
import { ICON_PATH, STYLE_PATH } from './html/layout.js';
import { assetResponse } from './html/page-response.js';
import { ICON, STYLE_SHEET } from './html/style-sheet.js';
import { statusRoutes } from './status-routes.js';
import { userRoutes } from './user/user-routes.js';

export interface PageParts extends ConsoleParts {
  readonly oauth: OAuthProvider;
}

/** All pages: the console, the status page, and the sign-in of users. */
export function pageRoutes(parts: PageParts): readonly Route[] {
  const asset = (pattern: string, type: string, text: string): Route => ({
    endpoint: 'pages',
    methods: ['GET'],
    pattern,
    errorBody: searchErrorBody,
    handle: () => assetResponse(type, text),
  });
  return [
    asset(STYLE_PATH, 'text/css; charset=utf-8', STYLE_SHEET),
    asset(ICON_PATH, 'image/svg+xml', ICON),
    // Browsers request this by default.
    asset('/favicon.ico', 'image/svg+xml', ICON),
    ...statusRoutes(parts.context),
    ...userRoutes(parts),
    ...consoleRoutes(parts),
  ];
}
