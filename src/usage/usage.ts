/** The functions for usage reports. The package exports them as the namespace `usage`. */
export { type UsageChartOptions, usageChart as chart } from './usage-chart.js';
export {
  type ProductUsage,
  type PublisherUsage,
  type UsageBucket,
  type UsageOptions,
  type UsageReport,
  type UsageSpan,
  type UsageThreshold,
  usage as report,
} from './usage-report.js';
export { type UsageRow, usageRows as rows, usageTable as table } from './usage-table.js';
