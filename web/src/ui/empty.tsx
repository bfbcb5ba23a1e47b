// What a page shows instead of data: what is missing, and what to do.

import type {ComponentChildren} from 'preact';
import {store} from '../feed/api.ts';
import {complete, status, type Access} from '../feed/connection.ts';
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

const lister = () => (status.value?.user ? 'your roles let you' : 'your kubeconfig may');

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
      <Empty title={`You may not list and watch ${names[table]}`}>
        <p>
          The console shows what {lister()} list. Ask an administrator for the verbs list and watch;
          the page continues by itself.
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

// Tables that have rows and are refused now: a role has changed, or their kind does not exist.
export function OldNotes() {
  const access = status.value?.access ?? {};
  const old = (Object.keys(names) as TableName[]).filter(
    (table) =>
      ['forbidden', 'absent', 'failed'].includes(access[table]?.state ?? '') &&
      store[table].size > 0,
  );
  return (
    <>
      {old.map((table) => (
        <p key={table} class="banner" role="alert">
          What you see of {names[table]} is old, because the API server refuses to send their
          changes: {access[table]?.message}
        </p>
      ))}
    </>
  );
}

// A note above data that are only a part, because of rights.
export function PartNote({table}: {table: TableName}) {
  const access = status.value?.access[table];
  if (access?.state === 'namespaces') return <NamespacesNote table={table} access={access} />;
  if (access?.state !== 'namespace') return null;
  return (
    <p class="note">
      Only {names[table]} of namespace {access.namespace}: your kubeconfig may not list those of the
      whole cluster.
    </p>
  );
}

function NamespacesNote({table, access}: {table: TableName; access: Access}) {
  const {namespaces = [], count = 0, bounded = false} = access;
  const more = count - namespaces.length;
  return (
    <p class="note">
      Only {names[table]} of {count === 1 ? 'namespace' : 'namespaces'} {namespaces.join(', ')}
      {more > 0 && ` and ${more} more`}: your roles do not let you list those of the whole cluster.
      {bounded &&
        ' The cluster has more namespaces than the console has asked about: name yours in the ' +
          'address, as ?namespaces=a,b.'}
    </p>
  );
}
