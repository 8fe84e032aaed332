/**
 * The codes of languages that the service is known to recognise. `und` means that no language was recognised.
 * Hebrew and Indonesian are listed with their current codes and with the codes used before 1989.
 */
export const languageCodes: ReadonlySet<string> = new Set(
  (
    'am ar bg bn bo bs ca ckb cs cy da de dv el en es et eu fa fi fr gu he hi hr ht hu hy id in is ' +
    'it iw ja ka km kn ko lo lt lv ml mr my ne nl no or pa pl ps pt ro ru sd si sk sl sr sv ta te th ' +
    'tl tr ug uk ur vi zh hi-latn zh-cn zh-tw und'
  ).split(' '),
);

/** Common codes for languages, with the code that the service uses for the same language. */
const languageSynonyms: ReadonlyMap<string, string> = new Map([
  ['eng', 'en'],
  ['fil', 'tl'],
  ['ger', 'de'],
  ['gr', 'el'],
  ['jp', 'ja'],
  ['kr', 'ko'],
  ['nb', 'no'],
  ['spa', 'es'],
  ['ua', 'uk'],
]);

export function languageMeant(written: string): string | undefined {
  const code = written.toLowerCase();
  const base = code.split(/[-_]/)[0] as string;
  return languageSynonyms.get(code) ?? (languageCodes.has(base) ? base : undefined);
}

/** The country codes of ISO 3166-1 alpha-2, and XK. */
export const countryCodes: ReadonlySet<string> = new Set(
  (
    'AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR ' +
    'BS BT BV BW BY BZ CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ ' +
    'EC EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW ' +
    'GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW KY ' +
    'KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV ' +
    'MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY ' +
    'QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG ' +
    'TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS XK YE YT ZA ' +
    'ZM ZW'
  ).split(' '),
);

export const countrySynonyms: ReadonlyMap<string, string> = new Map([
  ['EN', 'GB'],
  ['GBR', 'GB'],
  ['UK', 'GB'],
  ['USA', 'US'],
]);
