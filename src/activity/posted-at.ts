const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const CREATED_AT = /^\w{3} (\w{3}) (\d\d) (\d\d:\d\d:\d\d) ([+-]\d\d)(\d\d) (\d{4})$/;
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/;

/** Epoch milliseconds of `Wed Oct 10 20:19:24 +0000 2018`; `NaN` if it is not of that form. */
export function parseCreatedAt(text: string): number {
  const match = CREATED_AT.exec(text);
  if (match === null) return Number.NaN;
  const [, name = '', day, time, hours, minutes, year] = match;
  const month = String(MONTHS.indexOf(name) + 1).padStart(2, '0');
  return Date.parse(`${year}-${month}-${day}T${time}${hours}:${minutes}`);
}

/** Epoch milliseconds of `2018-10-10T20:19:24.000Z`; `NaN` if it is not of that form. */
export function parseIsoTime(text: string): number {
  return ISO.test(text) ? Date.parse(text) : Number.NaN;
}
