/** A city with the names that posts and profiles use. */
export interface SamplePlace {
  readonly name: string;
  readonly region: string;
  readonly country: string;
  /** ISO 3166-1 alpha-2. */
  readonly code: string;
  /** Degrees, longitude first. */
  readonly center: readonly [number, number];
  /** Hours ahead of UTC, without summer time. */
  readonly utcOffset: number;
  /** 16 hexadecimal digits. */
  readonly id: string;
}

const ROWS = [
  'Portland|Oregon|United States|US|-122.676|45.523|-8',
  'Chicago|Illinois|United States|US|-87.63|41.878|-6',
  'Austin|Texas|United States|US|-97.743|30.267|-6',
  'Boulder|Colorado|United States|US|-105.271|40.015|-7',
  'London|England|United Kingdom|GB|-0.128|51.507|0',
  'Leeds|England|United Kingdom|GB|-1.549|53.801|0',
  'Toronto|Ontario|Canada|CA|-79.383|43.653|-5',
  'Montréal|Québec|Canada|CA|-73.567|45.502|-5',
  'Melbourne|Victoria|Australia|AU|144.963|-37.814|10',
  'Pune|Maharashtra|India|IN|73.857|18.52|5.5',
  'Lagos|Lagos|Nigeria|NG|3.379|6.524|1',
  'Tokyo|Tokyo|Japan|JP|139.692|35.69|9',
  'Osaka|Osaka|Japan|JP|135.502|34.694|9',
  'Sapporo|Hokkaido|Japan|JP|141.354|43.062|9',
  'Guadalajara|Jalisco|Mexico|MX|-103.35|20.66|-6',
  'Sevilla|Andalucía|Spain|ES|-5.984|37.389|1',
  'Rosario|Santa Fe|Argentina|AR|-60.639|-32.946|-3',
  'Medellín|Antioquia|Colombia|CO|-75.564|6.244|-5',
  'Valparaíso|Valparaíso|Chile|CL|-71.613|-33.047|-4',
  'São Paulo|São Paulo|Brazil|BR|-46.633|-23.551|-3',
  'Recife|Pernambuco|Brazil|BR|-34.877|-8.047|-3',
  'Porto|Porto|Portugal|PT|-8.611|41.15|0',
  'Jeddah|Makkah|Saudi Arabia|SA|39.198|21.543|3',
  'Cairo|Cairo|Egypt|EG|31.236|30.044|2',
  'Dubai|Dubai|United Arab Emirates|AE|55.271|25.205|4',
  'Kuwait City|Al Asimah|Kuwait|KW|47.978|29.376|3',
  'Izmir|Izmir|Turkey|TR|27.142|38.424|3',
  'Ankara|Ankara|Turkey|TR|32.86|39.933|3',
  'Lyon|Auvergne-Rhône-Alpes|France|FR|4.835|45.764|1',
  'Nantes|Pays de la Loire|France|FR|-1.554|47.218|1',
  'Ghent|Flanders|Belgium|BE|3.725|51.054|1',
  'Dakar|Dakar|Senegal|SN|-17.467|14.716|0',
  'Bandung|West Java|Indonesia|ID|107.619|-6.917|7',
  'Surabaya|East Java|Indonesia|ID|112.752|-7.258|7',
  'Seoul|Seoul|Republic of Korea|KR|126.978|37.567|9',
  'Busan|Busan|Republic of Korea|KR|129.076|35.18|9',
  'Hamburg|Hamburg|Germany|DE|9.994|53.551|1',
  'Leipzig|Saxony|Germany|DE|12.373|51.34|1',
  'Graz|Styria|Austria|AT|15.439|47.071|1',
  'Basel|Basel-Stadt|Switzerland|CH|7.589|47.559|1',
  'Perm|Perm Krai|Russia|RU|56.234|58.01|5',
  'Almaty|Almaty|Kazakhstan|KZ|76.946|43.238|5',
];

/** Append only: the posts of a seed depend on the order. */
export const PLACES: readonly SamplePlace[] = ROWS.map((row, index) => {
  const [name, region, country, code, longitude, latitude, utcOffset] = row.split('|');
  return {
    name: name as string,
    region: region as string,
    country: country as string,
    code: code as string,
    center: [Number(longitude), Number(latitude)],
    utcOffset: Number(utcOffset),
    id: (0x5a1b_0000_0000_0000n + BigInt(index) * 0x0000_0f3d_91c7_2b05n).toString(16),
  };
});
