import type { Bar } from './question.js';
import { middleAndSpread, type Recorded } from './record.js';

export function summary(answers: Readonly<Record<string, Recorded>>): string {
  const rows = Object.entries(answers).flatMap(([question, { charts }]) =>
    charts.flatMap(({ bars, unit, better }) =>
      [...new Set(bars.map(({ panel }) => panel))].map(panel => {
        const of = (kind: Bar['kind']) =>
          bars
            .filter(bar => bar.panel === panel && bar.kind === kind)
            .map(({ name, values }) => ({ name, value: middleAndSpread(values).middle }));
        const sign = better === 'more' ? -1 : 1;
        const best = (kind: Bar['kind']) =>
          of(kind).toSorted((a, b) => sign * (a.value - b.value))[0];
        const [ours, peer, limit] = [of('ours')[0], best('peer'), best('limit')];
        const ratio = (other: typeof ours) =>
          ours === undefined || other === undefined
            ? ''
            : (better === 'more' ? ours.value / other.value : other.value / ours.value).toFixed(2);
        return [
          panel === undefined ? question : `${question}: ${panel}`,
          unit,
          shown(ours?.value),
          peer === undefined ? '' : `${shown(peer.value)} (${peer.name})`,
          ratio(peer),
          ratio(limit),
        ];
      }),
    ),
  );
  return [
    '## All questions',
    '',
    'Ratios are speeds: 2.00 means that Millrace is twice as fast as the best of the others.',
    '',
    ...[
      ['', 'unit', 'millrace', 'best of the others', 'ours / best', 'ours / limit'],
      ['---', '---', '---:', '---', '---:', '---:'],
      ...rows,
    ].map(row => `| ${row.join(' | ')} |`),
    '',
  ].join('\n');
}

function shown(value: number | undefined): string {
  if (value === undefined) return '';
  return value >= 100 ? Math.round(value).toLocaleString('en') : value.toPrecision(3);
}
