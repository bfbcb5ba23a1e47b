// The list of what a field has found: the chosen line follows the field's keys and the pointer.

import type {ComponentChildren} from 'preact';

interface HitsProps<T> {
  id: string;
  label: string;
  hits: readonly T[];
  keyOf: (hit: T) => string;
  chosen: number;
  onChoose: (index: number) => void;
  onPick: (hit: T) => void;
  children: (hit: T) => ComponentChildren; // the line of a hit
}

// What tells assistive technology of the field which list and which line of it are its own.
export const fieldOf = (id: string, hits: number, chosen: number) =>
  ({
    role: 'combobox',
    'aria-expanded': hits > 0,
    'aria-controls': id,
    'aria-activedescendant': hits > 0 ? `${id}-${chosen}` : undefined,
    spellcheck: false,
    autocomplete: 'off',
  }) as const;

export function Hits<T>(props: HitsProps<T>) {
  return (
    <ul
      id={props.id}
      class="hits"
      role="listbox"
      aria-label={props.label}
      hidden={props.hits.length === 0}
    >
      {props.hits.map((hit, i) => (
        <li
          key={props.keyOf(hit)}
          id={`${props.id}-${i}`}
          role="option"
          aria-selected={i === props.chosen}
          ref={(item) => {
            if (item && i === props.chosen) item.scrollIntoView({block: 'nearest'});
          }}
          onMouseMove={() => props.onChoose(i)}
          onMouseDown={(event) => event.preventDefault()} // the field keeps the focus
          onClick={() => props.onPick(hit)}
        >
          {props.children(hit)}
        </li>
      ))}
    </ul>
  );
}
