import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { StoredMap } from '../stored-map.js';

/** An end user, who is an author of the archive. */
export interface User {
  /** The id, as digits. */
  readonly id: string;
  /** The handle, without `@`. */
  readonly handle: string;
  readonly name: string;
}

/** A user's consent to an application, with its access token. */
export interface Grant {
  readonly user: User;
  /** The consumer key of the application. */
  readonly key: string;
  readonly token: string;
  readonly secret: string;
  /** The time of the consent in epoch milliseconds. */
  readonly grantedAt: number;
  /** Whether the grant was revoked. Its token stays known, but gives no access. */
  readonly revoked?: boolean | undefined;
}

/**
 * The grants of users. A user has at most one grant for each application. A grant is valid until it is
 * revoked, and survives restarts. It can be found by its access token even after it was revoked.
 */
export class Grants extends StoredMap<Grant, StoredGrants> {
  /** @param stateFolder If undefined, grants are lost when the service stops. */
  constructor(stateFolder: string | undefined) {
    const file = stateFolder && join(stateFolder, 'oauth', 'grants.json');
    super(file, 'what users have granted', true);
  }

  /**
   * Stores all pending changes, if there is a state folder, then forgets the grants. They can be opened
   * again.
   */
  override async close(): Promise<void> {
    await super.close();
    this.set([]);
  }

  of(user: User, key: string): Grant | undefined {
    const grant = this.get(nameOf(user, key));
    return grant?.revoked ? undefined : grant;
  }

  /**
   * Returns the grant of a user for the application with the consumer key `key`. If there is none, or if it
   * was revoked, creates a grant with a new token.
   */
  grant(user: User, key: string, grantedAt: number): Promise<Grant> {
    return this.change(grants => {
      const known = grants.get(nameOf(user, key));
      if (known !== undefined && !known.revoked) return known;
      const grant: Grant = {
        user,
        key,
        token: `${user.id}-${randomBytes(27).toString('base64url')}`,
        secret: randomBytes(33).toString('base64url'),
        grantedAt,
      };
      grants.set(this.keyOf(grant), grant);
      return grant;
    });
  }

  /** Revokes a grant. Resolves to false if there is no such grant, or if it was revoked before. */
  revoke(user: Pick<User, 'id'>, key: string): Promise<boolean> {
    return this.change(grants => {
      const grant = grants.get(nameOf(user, key));
      if (grant === undefined || grant.revoked) return false;
      grants.set(this.keyOf(grant), { ...grant, revoked: true });
      return true;
    });
  }

  protected keyOf({ user, key }: Grant): string {
    return nameOf(user, key);
  }

  protected idOf({ token }: Grant): string {
    return token;
  }

  protected keep(grants: readonly Grant[]): StoredGrants {
    return { grants };
  }

  protected restore({ grants }: StoredGrants): readonly Grant[] {
    return grants;
  }
}

interface StoredGrants {
  readonly grants: readonly Grant[];
}

function nameOf(user: Pick<User, 'id'>, key: string): string {
  return `${user.id} ${key}`;
}
