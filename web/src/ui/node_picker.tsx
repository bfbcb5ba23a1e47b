// A field that finds nodes by parts of their names: arrow keys choose, Enter takes one.

import {useMemo, useState} from 'preact/hooks';
import {store} from '../feed/api.ts';
import type {Node} from '../feed/rows.ts';
import {bytes, cores, plural} from '../model/format.ts';
import {byName} from '../model/names.ts';
import {fieldOf, Hits} from './hits.tsx';
import {useSlowly} from './slowly.ts';

const MOST = 50;

// "32 cores, 128 GiB, 8 GPUs, cordoned".
export function shapeOf(node: Node): string {
  const parts = [`${cores(node.cpu)} cores`, bytes(node.memory)];
  if (node.gpus > 0) parts.push(plural(node.gpus, 'GPU'));
  if (node.cordoned) parts.push('cordoned');
  return parts.join(', ');
}

function found(text: string, without: readonly string[]): Node[] {
  const wanted = text.trim().toLowerCase();
  return [...store.nodes.values()]
    .filter(({name}) => name.toLowerCase().includes(wanted) && !without.includes(name))
    .sort(
      (a, b) =>
        Number(b.name.startsWith(wanted)) - Number(a.name.startsWith(wanted)) ||
        byName(a.name, b.name),
    )
    .slice(0, MOST);
}

interface PickerProps {
  id: string;
  label: string;
  placeholder: string;
  without: readonly string[]; // nodes that are chosen already
  onPick: (name: string) => void;
}

// The text, the list below it and the chosen line of the list, and what keys do to them.
function usePicking({without, onPick}: PickerProps) {
  const revision = useSlowly(['nodes'], 2000);
  const [text, setText] = useState('');
  const [open, setOpen] = useState(false);
  const [chosen, setChosen] = useState(0);
  const hits = useMemo(() => (open ? found(text, without) : []), [open, text, without, revision]);
  const type = (next: string) => {
    setText(next);
    setChosen(0);
  };
  const pick = (name: string) => {
    onPick(name);
    type('');
    setOpen(false);
  };
  const move = (to: number) => {
    setOpen(true);
    setChosen(Math.max(0, Math.min(hits.length - 1, to)));
  };
  const onKey = (event: KeyboardEvent) => {
    // Where nodes may not be listed, a name is taken as it is.
    const name = hits[chosen]?.name ?? (store.nodes.size === 0 ? text.trim() : '');
    const asks = event.ctrlKey || event.metaKey;
    if (event.key === 'ArrowDown') move(open ? chosen + 1 : 0);
    else if (event.key === 'ArrowUp') move(chosen - 1);
    else if (event.key === 'Escape' && open) setOpen(false);
    else if (event.key === 'Enter' && name && !asks) pick(name);
    else return;
    event.preventDefault();
  };
  return {text, open, chosen, hits, type, pick, setOpen, setChosen, onKey};
}

export function NodePicker(props: PickerProps) {
  const {text, open, chosen, hits, type, pick, setOpen, setChosen, onKey} = usePicking(props);
  const list = `${props.id}-nodes`;
  return (
    <div class="picker">
      <input
        {...fieldOf(list, hits.length, chosen)}
        class="filter"
        type="text"
        aria-label={props.label}
        aria-autocomplete="list"
        placeholder={props.placeholder}
        value={text}
        onKeyDown={onKey}
        onFocus={() => setOpen(true)}
        onClick={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onInput={(event) => {
          type(event.currentTarget.value);
          setOpen(true);
        }}
      />
      <Hits
        id={list}
        label={props.label}
        hits={hits}
        keyOf={(node) => node.name}
        chosen={chosen}
        onChoose={setChosen}
        onPick={(node) => pick(node.name)}
      >
        {(node) => (
          <>
            <span class="hit-name">{node.name}</span>
            <span class="quiet">{shapeOf(node)}</span>
          </>
        )}
      </Hits>
      {open && text !== '' && hits.length === 0 && store.nodes.size > 0 && (
        <p class="picker-none quiet">No node has this in its name.</p>
      )}
    </div>
  );
}
