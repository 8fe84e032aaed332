// The parts of posts other than sentences. Append only: the posts of a seed depend on the order.

/** A list of words, written with spaces between them. */
export function words(text: string): readonly string[] {
  return text.split(' ');
}

export const EMOJI = words(
  '😂 ❤️ 🔥 😭 🙏 ☕ ⚽ 🎶 🎉 😍 👍 👀 🤔 💯 ✨ 🌧️ 🐱 🐶 🍕 🚀 😅 💙 🥳 🎬 ✈️ 💼 🧘 🤖 💸 😴 ' +
    '👩‍💻 👨‍🍳 👩‍🚀 👨‍👩‍👧‍👦 🏳️‍🌈 🧑‍🎓 ❤️‍🔥 👏🏽 💪🏿 🙌🏻 🇧🇷 🇯🇵 🇫🇷 🇲🇽 🤷‍♀️ 🧔🏾‍♂️ 1️⃣ 🫶',
);

export const CASHTAGS = words('ACME HRBR NWND LMNA QRTZ VLMR TIDE FJRD');

/** Tags without a topic, in Latin letters in every language. */
export const COMMON_TAGS = words(
  'MondayMotivation ThrowbackThursday FridayFeeling NowPlaying BreakingNews Travel photooftheday WorldCup ClimateAction OpenData 100DaysOfCode BookClub',
);

export interface SampleSource {
  readonly name: string;
  readonly link: string;
}

/** The applications that posts come from, the most common first. */
export const SOURCES: readonly SampleSource[] = [
  { name: 'Twitter for iPhone', link: 'http://twitter.com/download/iphone' },
  { name: 'Twitter for Android', link: 'http://twitter.com/download/android' },
  { name: 'Twitter Web Client', link: 'http://twitter.com' },
  { name: 'Twitter for iPad', link: 'http://twitter.com/#!/download/ipad' },
  { name: 'Harbor Deck', link: 'https://deck.harbor.example' },
  { name: 'Northwind Scheduler', link: 'https://scheduler.northwind.example/about' },
];

/** A linked page. */
export interface SampleLink {
  /** The ten characters of its short link. */
  readonly code: string;
  readonly url: string;
  readonly display: string;
  readonly title: string;
  readonly description: string;
}

export const LINKS = 4096;

const SITES = [
  'dailyharbor.example|Daily Harbor',
  'northwindpost.example|Northwind Post',
  'kitchenlamp.example|Kitchen Lamp',
  'secondhalf.example|Second Half',
  'slowtrains.example|Slow Trains',
  'bitgarden.example|Bit Garden',
  'papermoon.example|Paper Moon',
  'elmercado.example|El Mercado Diario',
  'laterrasse.example|La Terrasse',
  'asahigaoka.example|Asahigaoka Times',
  'cityledger.example|City Ledger',
  'youwatch.example|YouWatch',
];
const SECTIONS = words('news food sport culture travel tech money health video opinion');
const HEADS = words('Why How Where Inside Review Guide Watch Explained Before Beyond');
export const SUBJECTS = words(
  'coffee football music weather cinema bread trains deadlines sleep robots rent cats harbors gardens rivers markets festivals bicycles libraries mountains',
);
const TAILS = [
  'matters again',
  'changed overnight',
  'is not what it was',
  'in five minutes',
  'for beginners',
  'this winter',
  'after the storm',
  'on a budget',
  'in the city',
  'without tears',
];

/** Link `index` of `LINKS`: all sample archives link the same pages. */
export function sampleLink(index: number): SampleLink {
  const [host, site] = (SITES[index % SITES.length] as string).split('|') as [string, string];
  const section = SECTIONS[(index >>> 2) % SECTIONS.length] as string;
  const subject = SUBJECTS[(index * 7 + (index >>> 5)) % SUBJECTS.length] as string;
  const tail = TAILS[(index >>> 3) % TAILS.length] as string;
  const head = HEADS[(index >>> 4) % HEADS.length] as string;
  const path = `${section}/${head.toLowerCase()}-${subject}-${tail.replaceAll(' ', '-')}-${1000 + index}`;
  const shown = `${host}/${path}`;
  return {
    code: linkCode(index),
    url: `https://www.${host}/${path}`,
    display: `${shown.slice(0, host.length + 15)}…`,
    title: `${head} ${subject} ${tail} | ${site}`,
    description: `${head} ${subject} ${tail}: ${site} asked around, counted twice and wrote down what people said about ${subject}.`,
  };
}

/** Ten letters and digits, different for each number below 62^5. */
export function linkCode(index: number): string {
  const digits = 'qL0vZ8mXc1RtY5bNw3KpF7hGj2DsA9eUi4oPyEaTlWnBgQrHkCxJuMdSfV6zIO';
  let code = '';
  for (let rest = index + 62 ** 4, i = 0; i < 5; i++, rest = Math.floor(rest / 62)) {
    const digit = rest % 62;
    code += digits.charAt((digit + i * 13) % 62) + digits.charAt((digit * 7 + index + i * 29) % 62);
  }
  return code;
}

/** The number of invented names. Small indices are the famous ones. */
export const NAMES = 32_768;

const FIRST = words(
  'Vel Nor Tam Ker Lu Sha Bri Dor Ell Fen Gal Hal Ir Jun Kal Mor Nev Or Pel Quin Ros Sel Tor Ul Ven Wil Xan Yar Zel Ash Bel Cor',
);
const MIDDLE = words(
  'a e i o u ai an ar el en er il in ir ol on or ul un ash eth ind ost und ara eri ola umi ino ane ode ula',
);
const LAST = words(
  'mora nia tek dale vik ris ton lia wen ford mar gate lin sted bora nell zon rath via quist ban dor fell ghan hil jo kan lume moor nax pol ry',
);

/** An invented name of a band, a town or a product: a word that occurs in no other part of a post. */
export function sampleName(index: number): string {
  const first = FIRST[index & 31] as string;
  const middle = MIDDLE[(index >>> 5) & 31] as string;
  return first + middle + (LAST[(index >>> 10) & 31] as string);
}
