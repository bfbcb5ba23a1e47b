// Finds objects by parts of their names, best first: exact, then prefix, then anywhere.

import type {Store} from '../feed/store.ts';
import {linkTo, nodeLink, podLink} from '../state/route.ts';

export interface Hit {
  kind: string;
  name: string;
  link: string;
}

const MOST = 40;
const MOST_OF_A_RANK = 500; // of one kind; an exact name may still follow

function rank(name: string, wanted: string): number {
  if (name === wanted || name.endsWith(`/${wanted}`)) return 0;
  if (name.startsWith(wanted) || name.includes(`/${wanted}`)) return 1;
  return name.includes(wanted) ? 2 : 3;
}

export function search(store: Store, text: string): Hit[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === '') return [];
  const ranked: [number, Hit][] = [];
  const look = (kind: string, names: Iterable<string>, link: (name: string) => string) => {
    const found = [0, 0, 0];
    for (const name of names) {
      const place = rank(name.toLowerCase(), wanted);
      if (place === 3 || found[place]! >= MOST_OF_A_RANK) continue;
      found[place]!++;
      ranked.push([place, {kind, name, link: link(name)}]);
    }
  };
  look('node', store.nodes.keys(), nodeLink);
  look('quota', store.quotas.keys(), (key) => linkTo('quotas', ...key.split('/')));
  look('job', store.byGang.keys(), (key) => linkTo('jobs', ...key.split('/')));
  look('pod', store.pods.keys(), podLink);
  look('reservation', store.reservations.keys(), (key) => linkTo('reservations', key));
  ranked.sort((a, b) => a[0] - b[0] || a[1].name.length - b[1].name.length);
  return ranked.slice(0, MOST).map(([, hit]) => hit);
}
