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

// The values of a column; none where the history lacks it, or the user may not read it.
export const valuesOf = (history: History, column: string): (number | null)[] =>
  history.columns[column] ?? history.times.map(() => null);
