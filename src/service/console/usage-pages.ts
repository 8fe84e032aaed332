import { DAY, floorTo, formatTimestamp } from '../../base/time.js';
import {
  buildUsageReport,
  type ReportedProduct,
  type ReportedPublisher,
  type UsageItem,
} from '../usage/build-usage-report.js';
import { monthsLater, startOfMonth } from '../usage/usage-meter.js';
import type { ConsolePage } from './console-page.js';
import { commandList } from './endpoint-list.js';
import { type Bar, barChart } from './html/bar-chart.js';
import { type Html, html, isolated } from './html/html.js';
import { facts, printCount, printNumber, renderState } from './html/page-parts.js';
import { column, type HtmlColumn, table } from './html/table.js';

const DAYS = 31;
const LABEL_EVERY = 7;

export const usagePages: readonly ConsolePage[] = [
  {
    pattern: '/console/usage',
    section: 'usage',
    async show(visit) {
      const { context } = visit;
      const now = context.clock.now();
      const [months, days] = await Promise.all([
        buildUsageReport(context, { bucket: 'month', from: monthsLater(startOfMonth(now), -11) }),
        buildUsageReport(context, { bucket: 'day', from: floorTo(DAY, now) - (DAYS - 1) * DAY }),
      ]);
      const [publisher] = months.publishers;
      const { status } = months.account;
      return {
        title: 'Usage',
        lead: `What this service delivered, each activity once in a UTC day and product. The account is ${status}.`,
        body: html`${
          publisher === undefined
            ? html`<p class="card empty">Nothing used in the last twelve months. The <a href="/console#start">overview</a> has a first search.</p>`
            : html`${thisMonth(publisher)}
<section class="card" aria-labelledby="months"><h2 id="months">By month</h2>
${monthChart(publisher)}${numbersOf('Month', publisher.used, 7)}</section>
<section class="card" aria-labelledby="days"><h2 id="days">By day</h2>
${dayChart(days.publishers[0], formatTimestamp(now))}</section>
<section class="card" aria-labelledby="products"><h2 id="products">By product, this month</h2>
${table('Used so far, and projected to the end of the month', PRODUCT_COLUMNS, publisher.products)}</section>`
        }${commandList(visit, 'usage')}`,
      };
    },
  },
];

function thisMonth({ name, used, projected, thresholds }: ReportedPublisher): Html {
  const activities = used.at(-1)?.activities ?? 0;
  const passed = thresholds.filter(threshold => threshold.activities <= activities);
  return html`<section class="card" aria-labelledby="month"><header><h2 id="month">This month, ${isolated(name)}</h2>
<span class="row">${passed.map(({ type }) => renderState(`${type} passed`, type === 'cap' ? 'bad' : 'warn'))}</span></header>
${facts([
  ['Used', html`<span class="headline">${activitiesOf(activities)}</span>`],
  [
    'Projected to its end',
    html`<span class="headline">${activitiesOf(projected.activities)}</span>`,
  ],
  ...thresholds.map(
    ({ type, activities }) =>
      [type === 'cap' ? 'Cap' : 'Alert at', activitiesOf(activities)] as const,
  ),
])}</section>`;
}

const activitiesOf = (count: number) => printCount(count, 'activity', 'activities');

function monthChart({ used, projected, thresholds }: ReportedPublisher): Html {
  const bars = used.map(({ activities, fromDate }, index): Bar => {
    const isLast = index === used.length - 1;
    const month = dayName(fromDate, 7);
    return {
      label: MONTHS[Number(fromDate.slice(4, 6)) - 1] ?? '',
      name: month,
      value: activities,
      projected: isLast ? projected.activities : undefined,
    };
  });
  const lines = thresholds.map(({ activities, type }) => ({ kind: type, value: activities }));
  return html`${barChart({ summary: `Activities in each of the last ${bars.length} months, with the projection for the current one`, bars, lines })}
<ul class="legend"><li><svg aria-hidden="true"><rect class="bar" width="100%" height="100%"/></svg>used</li>
<li><svg aria-hidden="true"><rect class="projected" x="1" y="1" width="12" height="12"/></svg>projected</li>
${lines.map(({ kind, value }) => html`<li><svg aria-hidden="true"><line class="${kind}" x1="0" x2="100%" y1="50%" y2="50%"/></svg>${kind} at ${printNumber(value)}</li>`)}</ul>`;
}

function dayChart(publisher: ReportedPublisher | undefined, now: string): Html {
  if (publisher === undefined)
    return html`<p class="empty">Nothing used in the ${DAYS} days up to ${dayName(now, 10)}.</p>`;
  const { used } = publisher;
  const bars = used.map(({ activities, fromDate }, index): Bar => {
    const fromEnd = used.length - 1 - index;
    return {
      label: fromEnd % LABEL_EVERY === 0 ? dayName(fromDate, 10).slice(5) : '',
      name: dayName(fromDate, 10),
      value: activities,
    };
  });
  return html`${barChart({ summary: `Activities on each of the last ${bars.length} days`, bars })}${numbersOf('Day', used, 10)}`;
}

function numbersOf(label: string, used: readonly UsageItem[], length: number): Html {
  return html`<details><summary>The numbers<span class="unseen"> by ${label.toLowerCase()}</span></summary>${table(
    `Activities, newest first`,
    [
      column.header<UsageItem>(label, ({ fromDate }) => dayName(fromDate, length)),
      column.number<UsageItem>('Used', ({ activities }) => printNumber(activities)),
    ],
    used.toReversed(),
  )}</details>`;
}

const PRODUCT_COLUMNS: readonly HtmlColumn<ReportedProduct>[] = [
  column.header('Product', ({ name }) => name),
  column.number('Activities', ({ used }) => printNumber(used.at(-1)?.activities ?? 0)),
  column.number('Projected', ({ projected }) => printNumber(projected.activities)),
  column.number('Requests', requestsOf),
];

function requestsOf({ used, projected, thresholds = [] }: ReportedProduct): string | undefined {
  const requests = used.at(-1)?.requests;
  if (requests === undefined) return undefined;
  const cap = thresholds[0]?.requests;
  return `${printNumber(requests)}, projected ${printNumber(projected.requests ?? 0)}${cap === undefined ? '' : `, cap ${printNumber(cap)}`}`;
}

const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');

/** Formats a day or month as `2026-11-21` or `2026-11`. */
function dayName(timestamp: string, length: number): string {
  return `${timestamp.slice(0, 4)}-${timestamp.slice(4, 6)}-${timestamp.slice(6, 8)}`.slice(
    0,
    length,
  );
}
