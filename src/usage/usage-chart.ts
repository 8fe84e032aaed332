import { checkOptions, checkValue, type OptionTable, whole } from '../base/check.js';
import type { ProductUsage, UsageReport, UsageSpan } from './usage-report.js';
import { alertOf, capOf, periodOf, projectedIn, REPORT } from './usage-table.js';

/** Options of `usage.chart`: the width of the chart, and its number of lines. */
export interface UsageChartOptions {
  /** The maximum width in columns. @default the width of the terminal, or 80 */
  readonly width?: number | undefined;
  /**
   * The maximum number of lines per product. If there are more periods than lines, each line shows several
   * adjacent periods.
   * @default 31
   */
  readonly lines?: number | undefined;
}

interface Bar {
  readonly name: string;
  readonly used: number;
  /** Never less than `used`. */
  readonly projected: number;
  /**
   * Set for an alert or a cap of the contract. Its value is `projected`, which is drawn as a mark instead of
   * a bar.
   */
  readonly isMark?: true;
}

const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
const MIN_WIDTH = 40;

const OPTIONS = {
  width: whole('columns of the whole', { min: MIN_WIDTH }),
  lines: whole('lines of one product', { min: 1, default: 31 }),
} satisfies OptionTable<UsageChartOptions>;

/**
 * Formats a usage report as text for a terminal. For each publisher and product, there is a bar for each
 * period. The usage is dark, and the projection for the month is light. The alerts and caps in the contract
 * are also shown.
 *
 * @throws OptionError if the argument is not a report, if `width` is below 40, or if `lines` is below 1.
 * @example
 * console.log(usage.chart(await usage.report(account())));
 */
export function usageChart(report: UsageReport, options: UsageChartOptions = {}): string {
  checkValue('usage.chart', 'report', REPORT, report);
  const { width = terminalWidth(), lines } = checkOptions('usage.chart', OPTIONS, options);
  const { account, bucket, fromDate, toDate, publishers } = report;
  const head = `Usage of ${plain(account.name)} by ${plain(bucket)}, ${fromDate} to ${toDate} UTC`;
  const draw = (name: string, product: ProductUsage) =>
    chartOf(plain(name), product, bucket, width, lines);
  const charts = publishers.flatMap(publisher => [
    draw(publisher.name, publisher),
    ...publisher.products.map(product => draw(`${publisher.name}: ${product.name}`, product)),
  ]);
  return [head, ...(charts.length === 0 ? ['Nothing was used.'] : charts)].join('\n\n');
}

function terminalWidth(): number {
  return Math.max(MIN_WIDTH, process.stdout.columns ?? 80);
}

function chartOf(
  name: string,
  product: ProductUsage,
  bucket: string,
  width: number,
  lines: number,
): string {
  const spans = product.used.map(span => barOf(span, product, bucket));
  const bars = [...together(spans, Math.ceil(spans.length / lines)), ...marksOf(product, bucket)];
  const most = Math.max(1, ...bars.map(({ projected }) => projected));
  const nameWidth = Math.max(...bars.map(bar => bar.name.length), 0);
  const numbers = bars.map(numbersOf);
  const barWidth = Math.max(1, width - nameWidth - Math.max(...numbers.map(n => n.length), 0) - 4);
  const rows = bars.map(
    (bar, i) =>
      `  ${bar.name.padEnd(nameWidth)} ${drawn(bar, barWidth / most).padEnd(barWidth)} ${numbers[i]}`,
  );
  return [name, ...rows, ...summary(product)].join('\n');
}

function barOf(span: UsageSpan, product: ProductUsage, bucket: string): Bar {
  const used = span.activities;
  const ofMonth = bucket === 'day' ? undefined : projectedIn(span, product);
  return { name: periodOf(bucket, span), used, projected: Math.max(used, ofMonth ?? 0) };
}

/**
 * Returns the monthly alert and cap as bars on the same scale as the usage. Returns no bars for days, and no
 * bar for a cap that limits requests instead of activities.
 */
function marksOf(product: ProductUsage, bucket: string): Bar[] {
  if (bucket === 'day') return [];
  const { threshold, thresholdOf } = capOf(product);
  const cap = thresholdOf === 'activities' ? threshold : null;
  return Object.entries({ alert: alertOf(product), cap }).flatMap(([name, amount]) =>
    amount === null ? [] : { name, used: 0, projected: amount, isMark: true },
  );
}

function together(bars: readonly Bar[], each: number): Bar[] {
  const shared: Bar[] = [];
  for (let at = 0; at < bars.length; at += each) {
    const some = bars.slice(at, at + each);
    const [first, last] = [some[0], some.at(-1)];
    shared.push({
      name: first === undefined || last === undefined ? '' : spanOf(first.name, last.name),
      used: some.reduce((sum, bar) => sum + bar.used, 0),
      projected: some.reduce((sum, bar) => sum + bar.projected, 0),
    });
  }
  return shared;
}

/** Formats a span as `2024-05-30 to 31`. If more than the day differs, formats both dates in full. */
function spanOf(first: string, last: string): string {
  if (first === last) return first;
  const isAlike = first.slice(0, -2) === last.slice(0, -2);
  return `${first} to ${isAlike ? last.slice(-2) : last}`;
}

function numbersOf({ used, projected, isMark }: Bar): string {
  if (isMark) return grouped(projected);
  return projected > used ? `${grouped(used)}, then ${grouped(projected)}` : grouped(used);
}

/** @param scale the number of columns per activity */
function drawn({ used, projected, isMark }: Bar, scale: number): string {
  if (isMark) return `${'┈'.repeat(Math.max(0, Math.round(projected * scale) - 1))}┤`;
  // The bar of an amount above zero is always visible.
  const eighths = used === 0 ? 0 : Math.max(1, Math.round(used * scale * 8));
  const dark = '█'.repeat(Math.floor(eighths / 8)) + EIGHTHS[eighths % 8];
  return dark + '░'.repeat(Math.max(0, Math.round(projected * scale) - dark.length));
}

function summary(product: ProductUsage): string[] {
  const { projected } = product;
  const { threshold, thresholdOf } = capOf(product);
  const alert = alertOf(product);
  const amount = thresholdOf === null ? undefined : projected?.[thresholdOf];
  const parts = [
    projected && `projected ${grouped(projected.activities)} this month`,
    alert !== null && `alert at ${grouped(alert)}`,
    threshold !== null && `cap of ${grouped(threshold)} ${thresholdOf}`,
    threshold !== null && amount !== undefined && capRatio(amount, threshold),
  ].filter(Boolean);
  return parts.length === 0 ? [] : [`  ${parts.join('; ')}`];
}

function capRatio(projected: number, cap: number): string {
  const percent = `${grouped(Math.round((100 * projected) / cap))} % of it`;
  return projected > cap ? `${percent}: over the cap` : percent;
}

function grouped(amount: number): string {
  return amount.toLocaleString('en-US');
}

/** Removes control characters, because a terminal would interpret them. */
function plain(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ');
}
