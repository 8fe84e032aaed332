import {
  type Activity,
  activities,
  compose,
  type Flow,
  gunzip,
  jsonLines,
  localFiles,
} from 'millrace';
import type { Work } from '../question.js';

export function readPosts({ files }: Work): Flow<Activity> {
  return compose(gunzip(), jsonLines(), activities())(localFiles(files));
}
