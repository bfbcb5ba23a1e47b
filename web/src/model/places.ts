// Nodes by place: zones, blocks, racks.

import type {Node} from '../feed/rows.ts';
import {byName} from './names.ts';

export interface Place {
  name: string; // "zone-a / rack-3"; "" for nodes without a place
  nodes: Node[];
}

export function placesOf(nodes: Iterable<Node>): Place[] {
  const places = new Map<string, Node[]>();
  for (const node of nodes) {
    const name = node.places.join(' / ');
    const list = places.get(name);
    if (list) list.push(node);
    else places.set(name, [node]);
  }
  for (const list of places.values()) list.sort((a, b) => byName(a.name, b.name));
  return [...places]
    .map(([name, list]) => ({name, nodes: list}))
    .sort((a, b) => byName(a.name, b.name));
}

// CPU numbers of a list such as "0-3,8,10-11".
export function cpusOf(text: string): number[] {
  const numbers: number[] = [];
  for (const part of text.split(',')) {
    const [first, last] = part.split('-').map(Number);
    if (part === '' || first === undefined || !Number.isInteger(first)) continue;
    const end = Math.min(last ?? first, first + 4096);
    for (let cpu = first; cpu <= end; cpu++) numbers.push(cpu);
  }
  return numbers;
}
