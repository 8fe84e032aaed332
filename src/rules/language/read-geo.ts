import type { BoundingBox, OperatorName, PointRadius, Span } from '../tree.js';
import { OPEN_BRACKET, type RuleReader } from './reader.js';
import { at, badInput, cannotParse, error, suggest } from './syntax-problems.js';

/** The exclusive maximum of radii and sides. */
const MAX_MILES = 25;
const MILES_PER_KILOMETRE = 0.621371192;
const EARTH_RADIUS_MILES = 3958.7613;

/** `[longitude latitude 10mi]`. */
export function readRadius(reader: RuleReader, name: OperatorName): PointRadius | undefined {
  const args = readBrackets(reader, name, 'lon lat 10mi');
  const longitude = args?.number();
  const latitude = longitude && args?.number();
  const distance = latitude && args?.distance();
  if (!args || !longitude || !latitude || !distance || !args.finish()) return undefined;
  if (!isOnEarth(reader, longitude, latitude)) return undefined;
  const { radius, unit } = distance;
  const miles = unit === 'mi' ? radius : radius * MILES_PER_KILOMETRE;
  if (miles >= MAX_MILES || radius === 0) {
    const reason = radius === 0 ? 'greater than 0' : `less than ${MAX_MILES}mi`;
    return reader.report(
      outOfRange(
        distance,
        `The radius of ${name} must be ${reason}`,
        `the radius must be ${reason}`,
      ),
    );
  }
  return { longitude: longitude.value, latitude: latitude.value, radius, unit };
}

/** `[west south east north]`. */
export function readBox(reader: RuleReader, name: OperatorName): BoundingBox | undefined {
  const args = readBrackets(reader, name, 'west south east north');
  const w = args?.number();
  const s = w && args?.number();
  const e = s && args?.number();
  const n = e && args?.number();
  if (!args || !w || !s || !e || !n || !args.finish()) return undefined;
  const west = isOnEarth(reader, w, s);
  if (!isOnEarth(reader, e, n) || !west) return undefined;
  const box = { west: w.value, south: s.value, east: e.value, north: n.value };
  const span = { start: w.start, end: n.end };
  if (box.west === box.east || box.south >= box.north)
    return reader.report(
      outOfRange(
        span,
        `The southwest corner of ${name} must be southwest of the northeast corner`,
        'a box is `[west south east north]`, with south below north',
      ),
    );
  if (widthInMiles(box) >= MAX_MILES || heightInMiles(box) >= MAX_MILES)
    return reader.report(
      outOfRange(
        span,
        `The width and height of ${name} must be less than ${MAX_MILES}mi`,
        `the box is ${miles(widthInMiles(box))} wide and ${miles(heightInMiles(box))} high; both must ` +
          `be less than ${MAX_MILES}mi`,
        'split it into several boxes, joined by `OR` in parentheses',
      ),
    );
  return box;
}

interface Located extends Span {
  readonly value: number;
}

/** The arguments in brackets, which are separated by spaces, read one by one. */
class Arguments {
  readonly #reader: RuleReader;
  readonly #tokens: readonly (Span & { readonly text: string })[];
  readonly #close: number;
  readonly #form: string;
  #next = 0;

  constructor(reader: RuleReader, open: number, close: number, form: string) {
    this.#reader = reader;
    this.#close = close;
    this.#form = form;
    const inner = reader.text.slice(open + 1, close);
    this.#tokens = Array.from(inner.matchAll(/[^\s]+/g), found => {
      const start = open + 1 + found.index;
      return { text: found[0], start, end: start + found[0].length };
    });
  }

  number(): Located | undefined {
    const token = this.#tokens[this.#next++];
    if (token !== undefined && /^-?(?:\d+\.?\d*|\.\d+)$/.test(token.text))
      return { value: Number(token.text), start: token.start, end: token.end };
    return this.#refuse(token);
  }

  distance(): (Span & Pick<PointRadius, 'radius' | 'unit'>) | undefined {
    const token = this.#tokens[this.#next++];
    const parts = /^(\d+\.?\d*|\.\d+)(mi|km)$/i.exec(token?.text ?? '');
    if (token === undefined || parts === null) return this.#refuse(token);
    const unit = (parts[2] as string).toLowerCase() as PointRadius['unit'];
    return { radius: Number(parts[1]), unit, start: token.start, end: token.end };
  }

  /** Whether all arguments are read. */
  finish(): boolean {
    const token = this.#tokens[this.#next];
    if (token !== undefined) this.#refuse(token);
    return token === undefined;
  }

  /** The service reports the position after a minus sign. */
  #refuse(token: (Span & { readonly text: string }) | undefined): undefined {
    const skip = token?.text.startsWith('-') && token.text.length > 1 ? 1 : 0;
    const start = token === undefined ? this.#close : token.start + skip;
    const end = token === undefined ? this.#close + 1 : token.end;
    const { text } = this.#reader;
    const commas = this.#tokens.some(({ text }) => text.includes(','));
    this.#reader.report(
      cannotParse(
        { start, end },
        text.slice(start, end),
        `the arguments are \`[${this.#form}]\`, separated by spaces`,
        commas ? this.#withoutCommas() : undefined,
      ),
    );
    return undefined;
  }

  #withoutCommas() {
    const start = this.#tokens[0]?.start ?? this.#close;
    const plain = this.#reader.text
      .slice(start, this.#close)
      .replace(/[\s,]+/g, ' ')
      .trim();
    return suggest('separate them by spaces', [{ start, end: this.#close, text: plain }], true);
  }
}

function readBrackets(reader: RuleReader, name: OperatorName, form: string): Arguments | undefined {
  const { text, at: open } = reader;
  if (reader.unit !== OPEN_BRACKET) {
    reader.skipRun();
    const span = { start: open, end: Math.max(open + 1, reader.at) };
    reader.at = span.end;
    return reader.report(
      badInput(
        span,
        text.slice(open, span.end),
        `\`${name}:\` takes its arguments in brackets: \`[${form}]\``,
      ),
    );
  }
  const close = text.indexOf(']', open);
  if (close === -1) {
    reader.at = text.length;
    reader.reportEnd('a bracket is not closed');
    return undefined;
  }
  reader.at = close + 1;
  return new Arguments(reader, open, close, form);
}

function isOnEarth(reader: RuleReader, longitude: Located, latitude: Located): boolean {
  const tooFar = Math.abs(longitude.value) > 180;
  const tooHigh = Math.abs(latitude.value) > 90;
  if (tooFar)
    reader.report(
      outOfRange(
        longitude,
        'Longitude must be in the range of -180 to 180',
        'a longitude is -180 to 180 degrees, and comes before the latitude',
      ),
    );
  if (tooHigh)
    reader.report(
      outOfRange(
        latitude,
        'Latitude must be in the range of -90 to 90',
        'a latitude is -90 to 90 degrees, and comes after the longitude',
      ),
    );
  return !tooFar && !tooHigh;
}

function outOfRange(span: Span, message: string, explanation: string, note?: string) {
  return error('R019', span, `${message} ${at(span.start)}`, explanation, { note });
}

function heightInMiles({ south, north }: BoundingBox): number {
  return radians(north - south) * EARTH_RADIUS_MILES;
}

/**
 * The width along the edge nearer to the equator, the longer one. A box may cross the 180th meridian.
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
