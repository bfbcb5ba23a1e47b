// The quotas of an answer: what they use and may use, before and after.

import {useMemo} from 'preact/hooks';
import {store} from '../../feed/api.ts';
import type {Status} from '../../model/whatif/answer.ts';
import {quotaAmount, quotaChanges, type QuotaChange} from '../../model/whatif/difference.ts';
import {linkTo} from '../../state/route.ts';
import {DifferenceMeter} from '../../ui/bits.tsx';
import {Table, textColumn, type Column} from '../../ui/table.tsx';

function quotaLink(name: string): string {
  for (const quota of store.quotas.values())
    if (quota.name === name) return linkTo('quotas', ...quota.key.split('/'));
  return '';
}

const amountColumn = (id: 'before' | 'after' | 'max', title: string): Column<QuotaChange> => ({
  id,
  title,
  number: true,
  wide: id === 'max',
  width: '84px',
  sort: (line) => line[id],
  cell: (line) => quotaAmount(line.resource, line[id]),
});

const quotaColumns: Column<QuotaChange>[] = [
  {
    id: 'quota',
    title: 'Quota',
    width: 'minmax(90px, 1.2fr)',
    sort: (line) => line.quota,
    cell: ({quota}) => {
      const link = quotaLink(quota);
      return link ? <a href={link}>{quota}</a> : quota;
    },
  },
  textColumn('resource', 'Resource', 'minmax(60px, 0.7fr)', (line) => line.resource),
  {
    id: 'bar',
    title: 'Of runtime',
    wide: true,
    width: 'minmax(80px, 1.4fr)',
    cell: (line) => <QuotaBar line={line} />,
  },
  amountColumn('before', 'Used'),
  amountColumn('after', 'Then'),
  {
    id: 'runtime',
    title: 'Runtime',
    number: true,
    wide: true,
    width: '150px',
    sort: (line) => line.runtime,
    cell: ({resource, runtimeBefore, runtime}) =>
      runtimeBefore === runtime
        ? quotaAmount(resource, runtime || Infinity)
        : `${quotaAmount(resource, runtimeBefore)} → ${quotaAmount(resource, runtime)}`,
  },
  amountColumn('max', 'Max'),
];

// Without a runtime there is nothing to compare with.
function QuotaBar({line}: {line: QuotaChange}) {
  if (line.runtime === 0) return <>–</>;
  return (
    <DifferenceMeter
      before={line.before}
      after={line.after}
      whole={Math.max(line.runtime, line.before, line.after)}
      text={`${line.resource} of ${line.quota}`}
    />
  );
}

export function Quotas({status}: {status: Status}) {
  const lines = useMemo(() => quotaChanges(status), [status]);
  if (lines.length === 0) return null;
  return (
    <>
      <h2 class="list-title">Quotas, before and after</h2>
      <Table
        label="Quotas, before and after"
        name="quotas"
        rows={lines}
        columns={quotaColumns}
        height={12}
        empty={null}
      />
    </>
  );
}
