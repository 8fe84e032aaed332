import { Activity } from '../../src/post/activity.js';

export const minimal = (members: object) => new Activity(Buffer.from(JSON.stringify(members)));
