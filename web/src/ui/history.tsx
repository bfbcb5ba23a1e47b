// Series of the console's history.

import {status} from '../feed/connection.ts';
import {param, setQuery} from '../state/route.ts';
import {Choice} from './bits.tsx';
import {useAnswer} from './explanation.tsx';

export interface History {
  times: number[];
  columns: Record<string, (number | null)[]>;
  problem?: string; // why Prometheus has not answered
}

const ranges: [string, string][] = [
  ['900', '15 min'],
  ['3600', '1 h'],
  ['21600', '6 h'],
  ['86400', '24 h'],
];
// Of a console with a Prometheus.
const longRanges: [string, string][] = [
  ['604800', '7 d'],
  ['2592000', '30 d'],
];

export const range = (): string => param('range', '3600');

export function RangeChoice() {
  return (
    <Choice
      label="Time range"
      value={range()}
      options={status.value?.older ? [...ranges, ...longRanges] : ranges}
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

export function HistoryNote({history}: {history: History}) {
  if (!history.problem) return null;
  return <p class="quiet">Older history is missing: {history.problem}</p>;
}
