import { Activity } from '../../src/activity/activity.js';

export const minimal = (members: object) => new Activity(Buffer.from(JSON.stringify(members)));
