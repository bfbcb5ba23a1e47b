// Numbers and times as text, in the units of the field.

export const count = (value: number): string => Math.round(value).toLocaleString('en-US');

export function plural(value: number, noun: string, many = `${noun}s`): string {
  return `${count(value)} ${value === 1 ? noun : many}`;
}

// Cores of thousandths: "0.25", "3.5", "1,204".
export function cores(milli: number): string {
  const value = milli / 1000;
  if (value === 0) return '0';
  if (Math.abs(value) >= 100) return count(value);
  return (Math.abs(value) < 10 ? value.toFixed(2) : value.toFixed(1)).replace(/\.?0+$/, '');
}

// Bytes of MiB: "512 MiB", "3.5 GiB", "12 TiB".
export function bytes(mebibytes: number): string {
  let value = mebibytes;
  for (const unit of ['MiB', 'GiB', 'TiB']) {
    if (value < 1024 || unit === 'TiB') return `${Number(value.toPrecision(3))} ${unit}`;
    value /= 1024;
  }
  return '';
}

export function percent(part: number, whole: number): string {
  return whole > 0 ? `${Math.round((100 * part) / whole)} %` : '–';
}

// "14 s", "3 min", "5 h", "12 d".
export function age(seconds: number): string {
  const value = Math.max(0, Math.round(seconds));
  if (value < 100) return `${value} s`;
  if (value < 100 * 60) return `${Math.round(value / 60)} min`;
  if (value < 48 * 3600) return `${Math.round(value / 3600)} h`;
  return `${Math.round(value / 86400)} d`;
}

export function clock(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace('T', ' ').slice(0, 19) + ' UTC';
}

const two = (value: number): string => String(value).padStart(2, '0');

// The hour and minute of this host's time zone.
export function clockOf(seconds: number, withSeconds: boolean): string {
  const time = new Date(seconds * 1000);
  const minute = `${two(time.getHours())}:${two(time.getMinutes())}`;
  return withSeconds ? `${minute}:${two(time.getSeconds())}` : minute;
}

// The ticks of an axis, at equal distances: with seconds where minutes would be equal, and with the
// day where it changes.
export function tickTexts(ticks: number[]): string[] {
  const [first = 0, second = Infinity] = ticks;
  const dayOf = (tick: number) => new Date(tick * 1000).getDate();
  return ticks.map((tick, i) => {
    const text = clockOf(tick, second - first < 60);
    const before = ticks[i - 1];
    if (before === undefined || dayOf(before) === dayOf(tick)) return text;
    return `${dayOf(tick)}.${new Date(tick * 1000).getMonth() + 1}. ${text}`;
  });
}

// An amount of a resource: of cpu in thousandths, of memory in MiB, of storage in bytes.
export function amount(resource: string, value: number): string {
  if (isCpu(resource)) return cores(value);
  if (isMemory(resource)) return bytes(value);
  if (isStorage(resource)) return bytes(value / 2 ** 20);
  return count(value);
}

export const isCpu = (resource: string): boolean => /(^|[/-])cpu$/.test(resource);
export const isMemory = (resource: string): boolean => /(^|[/-])memory$/.test(resource);
const isStorage = (resource: string): boolean => /(^|[/-])storage$/.test(resource);
