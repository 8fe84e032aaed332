import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { logger, Error as onlyErrors, parse, View } from 'vega';
import { compile, type TopLevelSpec } from 'vega-lite';
import type { Chart } from './question.js';
import { middleAndSpread, type Record } from './record.js';

const PAPER = { light: '#ffffff', dark: '#0d1117' };
const INK = { light: '#1f2328', dark: '#e6edf3' };
const FAINT_INK = { light: '#59636e', dark: '#9198a1' };
const GRID = { light: '#d1d9e0', dark: '#3d444d' };
const OURS = { light: '#0969da', dark: '#4493f8' };
const PEER = { light: '#afb8c1', dark: '#656c76' };
const LIMIT = { light: '#dfe3e8', dark: '#2f353d' };
const COLOURS = [PAPER, INK, FAINT_INK, GRID, OURS, PEER, LIMIT];

const FONT = 'system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif';
const WIDTH = 520;
const BAR_HEIGHT = 24;

export async function drawCharts(recorded: Record, folder: string): Promise<readonly string[]> {
  await mkdir(folder, { recursive: true });
  const drawn: string[] = [];
  for (const { charts, day, machine } of Object.values(recorded))
    for (const chart of charts) {
      const file = path.join(folder, `${chart.name}.svg`);
      await writeFile(file, `${await drawing(chart, `${machine}; ${day}`)}\n`);
      drawn.push(file);
    }
  return drawn;
}

async function drawing(chart: Chart, caption: string): Promise<string> {
  // Suppresses warnings of Vega that concern panels with shared data. These panels share none.
  const quiet = logger(onlyErrors);
  const { spec } = compile(specOf(chart, caption), { logger: quiet });
  const svg = await new View(parse(spec), { renderer: 'none', logger: quiet }).toSVG();
  return svg.replace(/^(<svg[^>]*>)/, `$1${darkStyle()}`);
}

/**
 * Returns a style sheet for dark pages. Vega sets colours as attributes, so the rules of a style
 * sheet override them.
 */
function darkStyle(): string {
  const rules = COLOURS.flatMap(({ light, dark }) => [
    `[fill="${light}"]{fill:${dark}}`,
    `[stroke="${light}"]{stroke:${dark}}`,
  ]);
  return `<style>@media (prefers-color-scheme: dark){${rules.join('')}}</style>`;
}

function specOf(chart: Chart, caption: string): TopLevelSpec {
  const { title, note, unit, better, logarithmic = false, bars } = chart;
  const values = bars.map(({ name, panel = '', kind, values }, order) => {
    const { middle, low, high } = middleAndSpread(values);
    return { name, panel, kind, order, middle, low, high, label: shown(middle) };
  });
  const panels = [...new Set(values.map(({ panel }) => panel))];
  const positive = values.map(({ low }) => low).filter(low => low > 0);
  // On a logarithmic axis, a bar cannot start at 0. It starts half a decade below the smallest
  // value.
  const begin = logarithmic ? Math.min(...positive) / 3 : 0;
  const most = Math.max(...values.map(({ high }) => high));
  const scale = {
    type: logarithmic ? ('log' as const) : ('linear' as const),
    // This leaves room for the label after the longest bar.
    domain: [begin, logarithmic ? most * (most / begin) ** 0.15 : most * 1.13],
    nice: false,
  };
  const y = {
    field: 'name',
    type: 'nominal' as const,
    sort: { field: 'order' },
    axis: { title: null, labelLimit: 500, labelPadding: 8, ticks: false, domain: false },
    scale: { paddingInner: 0.25, paddingOuter: 0.15 },
  };
  const x = (field: string) => ({ field, type: 'quantitative' as const, scale });
  const layer = [
    {
      mark: { type: 'bar' as const, cornerRadiusEnd: 2 },
      encoding: {
        y,
        x: { ...x('middle'), axis: axisOf(chart) },
        x2: { datum: begin },
        color: {
          field: 'kind',
          type: 'nominal' as const,
          scale: {
            domain: ['ours', 'peer', 'limit'],
            range: [OURS.light, PEER.light, LIMIT.light],
          },
          legend: null,
        },
      },
    },
    {
      mark: { type: 'rule' as const, color: FAINT_INK.light, strokeWidth: 1.5 },
      encoding: { y, x: x('low'), x2: { field: 'high' } },
    },
    {
      mark: {
        type: 'text' as const,
        align: 'left' as const,
        dx: 7,
        color: INK.light,
        fontSize: 12,
      },
      encoding: { y, x: x('high'), text: { field: 'label' } },
    },
  ];
  return {
    title: {
      text: title,
      subtitle: [
        ...(note === undefined ? [] : [note]),
        `${unit}, ${better} is better${logarithmic ? ' (logarithmic)' : ''}: medians, and lines for the spread`,
        caption,
      ],
      anchor: 'start',
      frame: 'group',
      fontSize: 15,
      subtitleFontSize: 11,
      color: INK.light,
      subtitleColor: FAINT_INK.light,
      offset: 14,
      subtitlePadding: 5,
    },
    background: PAPER.light,
    padding: 16,
    data: { values },
    config: {
      font: FONT,
      view: { stroke: null },
      axis: {
        labelColor: INK.light,
        labelFontSize: 12,
        gridColor: GRID.light,
        domainColor: GRID.light,
        tickColor: GRID.light,
        titleColor: FAINT_INK.light,
      },
    },
    ...(panels.length > 1
      ? {
          facet: {
            row: {
              field: 'panel',
              type: 'nominal',
              sort: panels,
              header: {
                title: null,
                labelOrient: 'top',
                labelAnchor: 'start',
                labelFontSize: 12,
                labelFontWeight: 'bold',
                labelColor: INK.light,
              },
            },
          },
          spec: { width: WIDTH, height: { step: BAR_HEIGHT }, layer },
          spacing: 10,
          resolve: { scale: { y: 'independent' } },
        }
      : { width: WIDTH, height: { step: BAR_HEIGHT }, layer }),
  } as TopLevelSpec;
}

function axisOf({ unit, logarithmic }: Chart) {
  const ticks = logarithmic
    ? { values: Array.from({ length: 19 }, (_, i) => 10 ** (i - 6)) }
    : { tickCount: 6 };
  return { title: unit, labelColor: FAINT_INK.light, titleFontWeight: 'normal', ...ticks };
}

function shown(value: number): string {
  return Number(value.toPrecision(3)).toLocaleString('en', { maximumFractionDigits: 4 });
}
