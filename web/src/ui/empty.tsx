// What a page shows instead of data: what is missing, and what to do.

import type {ComponentChildren} from 'preact';
import {complete, status} from '../feed/connection.ts';
import type {TableName} from '../feed/rows.ts';

export function Empty({title, children}: {title: string; children?: ComponentChildren}) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}

const names: Record<TableName, string> = {
  pods: 'pods',
  nodes: 'nodes',
  metrics: 'NodeMetrics',
  quotas: 'ElasticQuotas',
  gangs: 'PodGroups',
  moves: 'PodMigrationJobs',
  reservations: 'Reservations',
};

// Why a table has no rows: not loaded, not allowed, not installed, or really empty.
export function NoRows({
  table,
  title,
  children,
}: {
  table: TableName;
  title: string;
  children?: ComponentChildren;
}) {
  const access = status.value?.access[table];
  if (!complete.value || access?.state === 'loading')
    return <Empty title={`Loading ${names[table]} …`} />;
  if (access?.state === 'forbidden')
    return (
      <Empty title={`You may not list ${names[table]}`}>
        <p>
          The console shows what your kubeconfig may list. Ask an administrator for the verbs list
          and watch, then start it again.
        </p>
        <p class="quiet">{access.message}</p>
      </Empty>
    );
  if (access?.state === 'absent')
    return (
      <Empty title={`The cluster does not have ${names[table]}`}>
        <p>Their CustomResourceDefinition is not installed. It is in the folder deploy/crds.</p>
      </Empty>
    );
  if (access?.state === 'failed')
    return (
      <Empty title={`${names[table]} could not be read`}>
        <p class="quiet">{access.message}</p>
      </Empty>
    );
  return <Empty title={title}>{children}</Empty>;
}

// A note above data that are only a part, because of rights.
export function PartNote({table}: {table: TableName}) {
  const access = status.value?.access[table];
  if (access?.state !== 'namespace') return null;
  return (
    <p class="note">
      Only {names[table]} of namespace {access.namespace}: your kubeconfig may not list those of the
      whole cluster.
    </p>
  );
}
