// A node's name, which leads to the node if it exists: those that a question adds do not.

import {store} from '../../feed/api.ts';
import {nodeLink} from '../../state/route.ts';

export function NodeLink({name}: {name: string}) {
  return store.nodes.has(name) ? <a href={nodeLink(name)}>{name}</a> : <>{name}</>;
}
