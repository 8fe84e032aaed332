/** The functions for historical jobs. The package exports them as the namespace `jobs`. */

export { foldersVerdict as verdict } from './download-folder.js';
export {
  type DownloadedFile,
  type DownloadJobOptions,
  downloadJob as download,
} from './download-job.js';
export type {
  CreatedJob,
  CreatedRule,
  DeliveredJob,
  Job,
  JobCsvFile,
  JobList,
  JobListItem,
  JobListing,
  JobName,
  JobQuote,
  JobResults,
  JobStatus,
} from './job.js';
export {
  acceptJob as accept,
  createJob as create,
  findJob as find,
  getJob as get,
  type JobCallOptions,
  jobResults as results,
  jobResultsCsv as resultsCsv,
  listJobs as list,
  rejectJob as reject,
} from './job-calls.js';
export { countJobDays as countDays, type JobRequest, type JobRule } from './job-request.js';
export type { ExpectedAndDelivered, JobVerdict } from './job-verdict.js';
export { type RunJobOptions, runJob as run } from './run-job.js';
