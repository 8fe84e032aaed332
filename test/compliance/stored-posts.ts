export const PLACE = '{"id":"p","full_name":"Köln ☃"}';

export const original = (id: string, user: string, more = '') =>
  `{"created_at":"Wed Oct 10 20:19:24 +0000 2018","id":${id},"id_str":"${id}","text":"t","user":{"id":${user},"id_str":"${user}","screen_name":"u${user}","location":"here"},"geo":null,"place":${PLACE}${more}}`;

export const streams = (id: string, user: string, more = '') =>
  `{"id":"tag:search.twitter.com,2005:${id}","objectType":"activity","verb":"post","postedTime":"2018-10-10T20:19:24.000Z","body":"t","actor":{"id":"id:twitter.com:${user}","preferredUsername":"u${user}","displayName":"u"},"location":${PLACE}${more}}`;

export const ID = '1050118621198921728';
export const OTHER = '1050118621198921729';
