// The search that "/" opens.

import {signal} from '@preact/signals';
import {useLayoutEffect, useMemo, useRef, useState} from 'preact/hooks';
import {store} from '../feed/api.ts';
import {search} from '../model/search.ts';
import {go} from '../state/route.ts';
import {fieldOf, Hits} from './hits.tsx';
import {useSlowly} from './slowly.ts';

export const searching = signal(false);

export function followKeys(): void {
  document.addEventListener('keydown', (event) => {
    const target = event.target as HTMLElement;
    const types = target.matches('input, textarea, select');
    if (event.key === '/' && !types && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      searching.value = true;
    }
    if (event.key === 'Escape') searching.value = false;
  });
}

export function SearchBox() {
  const dialog = useRef<HTMLDialogElement>(null);
  // Before the next key arrives: it belongs to the search.
  useLayoutEffect(() => {
    if (searching.value) dialog.current?.showModal();
    else dialog.current?.close();
  }, [searching.value]);
  const close = () => {
    searching.value = false;
  };
  return (
    <dialog
      ref={dialog}
      class="search"
      aria-label="Search"
      onClose={close}
      onClick={(event) => event.target === dialog.current && close()}
    >
      {searching.value && <Search onOpen={close} />}
    </dialog>
  );
}

function Search({onOpen}: {onOpen: () => void}) {
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState(0);
  const revision = useSlowly(['nodes', 'pods', 'quotas', 'reservations'], 2000);
  const hits = useMemo(() => search(store, text), [text, revision]);
  const open = (link: string) => {
    onOpen();
    go(link);
  };
  const onKey = (event: KeyboardEvent) => {
    const hit = hits[chosen];
    if (event.key === 'ArrowDown') setChosen(Math.min(chosen + 1, hits.length - 1));
    else if (event.key === 'ArrowUp') setChosen(Math.max(chosen - 1, 0));
    else if (event.key === 'Enter' && hit) open(hit.link);
    else return;
    event.preventDefault();
  };
  const change = (next: string) => {
    setText(next);
    setChosen(0);
  };
  return (
    <>
      <input
        {...fieldOf('hits', hits.length, chosen)}
        type="text"
        autoFocus
        aria-label="Name of a node, pod, quota, job or reservation"
        value={text}
        placeholder="Node, pod, quota, job, reservation …"
        onKeyDown={onKey}
        onInput={(event) => change(event.currentTarget.value)}
      />
      <Hits
        id="hits"
        label="Found objects"
        hits={hits}
        keyOf={(hit) => hit.kind + hit.name}
        chosen={chosen}
        onChoose={setChosen}
        onPick={(hit) => open(hit.link)}
      >
        {(hit) => (
          <>
            <span class="hit-kind">{hit.kind}</span>
            <span class="hit-name">{hit.name}</span>
          </>
        )}
      </Hits>
      <p class="quiet search-note">
        {text && hits.length === 0
          ? 'Nothing has this in its name.'
          : '↑ ↓ choose, Enter opens, Esc closes'}
      </p>
    </>
  );
}
