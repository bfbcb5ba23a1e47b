// Series of the console's history.

import {param, setQuery} from '../state/route.ts';
import {Choice} from './bits.tsx';
import {useAnswer} from './explanation.tsx';

export interface History {
  times: number[];
  columns: Record<string, (number | null)[]>;
}

const ranges: [string, string][] = [
  ['900', '15 min'],
  ['3600', '1 h'],
  ['21600', '6 h'],
  ['86400', '24 h'],
];

export const range = (): string => param('range', '3600');

export function RangeChoice() {
  return (
    <Choice
      label="Time range"
      value={range()}
      options={ranges}
      onChange={(value) => setQuery({range: value})}
    />
  );
}

const empty: History = {times: [], columns: {}};

export function useHistory(series: string): History {
  const {answer} = useAnswer<History>('history', {series, seconds: range()}, true, 15_000);
  return answer ?? empty;
}
