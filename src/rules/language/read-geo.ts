import type { BoundingBox, OperatorName, PointRadius, Span } from '../tree.js';
import { OPEN_BRACKET, type RuleReader } from './reader.js';
import { badInput, cannotParse, error, suggest } from './syntax-problems.js';

/** Radii and the sides of boxes must be below this limit, in miles. */
const MAX_MILES = 25;
const MILES_PER_KILOMETRE = 0.621371192;
const EARTH_RADIUS_MILES = 3958.7613;

export function readRadius(reader: RuleReader, name: OperatorName): PointRadius | undefined {
  const forms = [NUMBER, NUMBER, DISTANCE];
  const args = readArguments(reader, name, 'lon lat 10mi', forms);
  const [longitude, latitude, distance] = args ?? [];
  if (!longitude || !latitude || !distance) return undefined;
  if (!isOnEarth(reader, longitude, latitude)) return undefined;
  const radius = distance.value;
  const unit = /km$/i.test(distance.text) ? 'km' : 'mi';
  const miles = unit === 'mi' ? radius : radius * MILES_PER_KILOMETRE;
  if (miles < MAX_MILES && radius !== 0)
    return { longitude: longitude.value, latitude: latitude.value, radius, unit };
  const reason = `must be ${radius === 0 ? 'greater than 0' : `less than ${MAX_MILES}mi`}`;
  return reader.report(
    error('R019', distance, `The radius of ${name} ${reason}`, `the radius ${reason}`),
  );
}

export function readBox(reader: RuleReader, name: OperatorName): BoundingBox | undefined {
  const forms = [NUMBER, NUMBER, NUMBER, NUMBER];
  const [w, s, e, n] = readArguments(reader, name, 'west south east north', forms) ?? [];
  if (!w || !s || !e || !n) return undefined;
  const west = isOnEarth(reader, w, s);
  if (!isOnEarth(reader, e, n) || !west) return undefined;
  const box = { west: w.value, south: s.value, east: e.value, north: n.value };
  const span = { start: w.start, end: n.end };
  if (box.west === box.east || box.south >= box.north)
    return reader.report(
      error(
        'R019',
        span,
        `The southwest corner of ${name} must be southwest of the northeast corner`,
        'a box is `[west south east north]`, with south below north',
      ),
    );
  const width = widthInMiles(box);
  const height = heightInMiles(box);
  if (width < MAX_MILES && height < MAX_MILES) return box;
  return reader.report(
    error(
      'R019',
      span,
      `The width and height of ${name} must be less than ${MAX_MILES}mi`,
      `the box is ${miles(width)} wide and ${miles(height)} high; both must be less than ${MAX_MILES}mi`,
      { note: 'split it into several boxes, joined by `OR` in parentheses' },
    ),
  );
}

const NUMBER = /^-?(?:\d+\.?\d*|\.\d+)$/;
const DISTANCE = /^(?:\d+\.?\d*|\.\d+)(?:mi|km)$/i;

interface Argument extends Span {
  readonly text: string;
  readonly value: number;
}

/**
 * Reads the space-separated arguments in brackets. There must be exactly one argument for each pattern in
 * `forms`, in the same order. Otherwise, reports a problem and returns `undefined`.
 */
function readArguments(
  reader: RuleReader,
  name: OperatorName,
  usage: string,
  forms: readonly RegExp[],
): readonly Argument[] | undefined {
  const { text, at: open } = reader;
  if (reader.unit !== OPEN_BRACKET) {
    reader.skipRun();
    const span = { start: open, end: Math.max(open + 1, reader.at) };
    reader.at = span.end;
    const explanation = `\`${name}:\` takes its arguments in brackets: \`[${usage}]\``;
    return reader.report(badInput(span, text.slice(open, span.end), explanation));
  }
  const close = text.indexOf(']', open);
  if (close === -1) {
    reader.at = text.length;
    reader.reportEnd('a bracket is not closed');
    return undefined;
  }
  reader.at = close + 1;
  const found = text.slice(open + 1, close).matchAll(/[^\s]+/g);
  const args = Array.from(found, ({ 0: word, index }) => {
    const start = open + 1 + index;
    return { text: word, value: Number.parseFloat(word), start, end: start + word.length };
  });
  let valid = 0;
  while (valid < args.length && forms[valid]?.test(args[valid]!.text)) valid++;
  if (valid === args.length && valid === forms.length) return args;
  const explanation = `the arguments are \`[${usage}]\`, separated by spaces`;
  const start = args[0]?.start ?? close;
  const plain = text
    .slice(start, close)
    .replace(/[\s,]+/g, ' ')
    .trim();
  const fix = args.some(arg => arg.text.includes(','))
    ? suggest('separate them by spaces', { start, end: close }, plain, true)
    : undefined;
  const span = refusedIn(args[valid] ?? { text: ']', start: close, end: close + 1 });
  const input = text.slice(span.start, span.end);
  return reader.report(cannotParse(span, input, explanation, fix));
}

/**
 * Returns the span to report for a refused argument. For a negative argument, the span starts after the minus
 * sign, as in the service's messages.
 */
function refusedIn({ text, start, end }: Pick<Argument, 'text' | 'start' | 'end'>): Span {
  return { start: text.startsWith('-') && text.length > 1 ? start + 1 : start, end };
}

function isOnEarth(reader: RuleReader, longitude: Argument, latitude: Argument): boolean {
  const isInRange = ({ value, start, end }: Argument, name: string, max: number, place: string) => {
    if (Math.abs(value) <= max) return true;
    const range = `-${max} to ${max}`;
    reader.report(
      error(
        'R019',
        { start, end },
        `${name} must be in the range of ${range}`,
        `a ${name.toLowerCase()} is ${range} degrees, and comes ${place}`,
      ),
    );
    return false;
  };
  const isLongitude = isInRange(longitude, 'Longitude', 180, 'before the latitude');
  return isInRange(latitude, 'Latitude', 90, 'after the longitude') && isLongitude;
}

function heightInMiles({ south, north }: BoundingBox): number {
  return radians(north - south) * EARTH_RADIUS_MILES;
}

/**
 * Returns the width of a box in miles. It is measured along the edge that is closer to the equator, because
 * that edge is longer. A box may cross the 180th meridian.
 */
function widthInMiles({ west, south, east, north }: BoundingBox): number {
  const nearest = south > 0 ? south : north < 0 ? north : 0;
  const degrees = east > west ? east - west : east - west + 360;
  return radians(degrees) * Math.cos(radians(nearest)) * EARTH_RADIUS_MILES;
}

function radians(degrees: number): number {
  return (degrees * Math.PI) / 180;
}

function miles(length: number): string {
  return `${length.toFixed(1)}mi`;
}
