import { type Html, html } from './html.js';
import { printNumber } from './page-parts.js';

export interface Bar {
  /** The text below the bar. May be empty. */
  readonly label: string;
  /** The full name, for the tooltip. */
  readonly name: string;
  readonly value: number;
  readonly address?: string | undefined;
  readonly projected?: number | undefined;
}

export interface BarChart {
  /** Describes the chart for screen readers. */
  readonly summary: string;
  readonly bars: readonly Bar[];
  readonly lines?: readonly { readonly kind: 'alert' | 'cap'; readonly value: number }[];
  /** Whether the chart is only a row of bars, without text. */
  readonly isSmall?: boolean;
}

/**
 * Renders bars as SVG. The tooltip of a bar shows its name and value. Vertical positions are in pixels.
 * Horizontal positions are percentages, so that text keeps its size on phones.
 */
export function barChart({ summary, bars, lines = [], isSmall = false }: BarChart): Html {
  const isLinked = bars.some(({ address }) => address !== undefined);
  const [upper, base, height] = isSmall ? [2, 46, 48] : [18, 186, 208];
  const values = bars.flatMap(({ value, projected = 0 }) => [value, projected]);
  const top = roundUp(Math.max(1, ...values, ...lines.map(({ value }) => value)));
  const y = (value: number) => round(base - ((base - upper) * value) / top);
  const step = 100 / Math.max(bars.length, 1);
  const width = round(step * 0.7);
  return html`<figure class="chart"><svg role="${isLinked ? 'group' : 'img'}" aria-label="${summary}" height="${height}" xmlns="http://www.w3.org/2000/svg">
${(isSmall ? [0] : [0, top / 2, top]).map(
  value => html`<line class="grid" x1="0" x2="100%" y1="${y(value)}" y2="${y(value)}"/>
`,
)}
${bars.map((bar, index) => {
  const x = round(step * index + step * 0.15);
  const words = html`${bar.name}: ${printNumber(bar.value)}${bar.projected !== undefined && `, projected ${printNumber(bar.projected)}`}`;
  const drawn = html`<title>${words}</title>${bar.address !== undefined && html`<rect class="hit" x="${round(step * index)}%" width="${round(step)}%" y="${upper}" height="${base - upper}"/>`}
<rect class="bar" x="${x}%" width="${width}%" y="${y(bar.value)}" height="${round(base - y(bar.value))}"/>
${bar.projected !== undefined && html`<rect class="projected" x="${x}%" width="${width}%" y="${y(bar.projected)}" height="${round(base - y(bar.projected))}"/>`}
${bar.label !== '' && html`<text ${labelAt(x, width)} y="${height - 5}"${(bars.length - index) % 2 === 0 && html` class="minor"`}>${bar.label}</text>`}`;
  return bar.address === undefined
    ? html`<g>${drawn}</g>
`
    : html`<a href="${bar.address}" aria-label="${words}">${drawn}</a>
`;
})}
${lines.map(
  ({ kind, value }) =>
    html`<line class="${kind}" x1="0" x2="100%" y1="${y(value)}" y2="${y(value)}"><title>${kind}: ${printNumber(value)}</title></line>`,
)}
${!isSmall && [top / 2, top].map(value => html`<text class="scale" x="-8" text-anchor="end" y="${y(value) + 4}">${compact.format(value)}</text>`)}</svg></figure>`;
}

const compact = new Intl.NumberFormat('en', { notation: 'compact' });

/**
 * Places the label of a bar below the middle of the bar. The label of a bar at an edge is moved so that it stays
 * inside the chart.
 */
function labelAt(x: number, width: number): Html {
  const middle = x + width / 2;
  if (middle > 97) return html`x="${round(x + width)}%" text-anchor="end"`;
  return middle < 3
    ? html`x="${x}%" text-anchor="start"`
    : html`x="${round(middle)}%" text-anchor="middle"`;
}

/**
 * Rounds up to 1, 2, 4, 6 or 8 followed by zeros, but at least to 2. Half of the result, which the chart
 * labels, is then an integer.
 */
function roundUp(value: number): number {
  const unit = 10 ** Math.floor(Math.log10(value));
  const factor = [1, 2, 4, 6, 8, 10].find(factor => factor * unit >= value) ?? 10;
  return Math.max(2, factor * unit);
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
