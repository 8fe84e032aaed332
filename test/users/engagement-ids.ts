import { DAY } from '../../src/base/time.js';
import { idOf, type PostOptions } from '../service/users/engagement-posts.js';

export const ONE: PostOptions = { ago: 2 * DAY, favorites: 5, retweets: 1, replies: 2 };

export const TWO: PostOptions = { ago: 3 * DAY, favorites: 7 };

export const FOREIGN: PostOptions = { ago: 4 * DAY, author: '8', favorites: 9 };

export const GONE: PostOptions = { ago: 5 * DAY };

export const [one, two, foreign, gone] = [ONE, TWO, FOREIGN, GONE].map(idOf) as [
  string,
  string,
  string,
  string,
];
