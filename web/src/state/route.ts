// The address is the state of the page: the path names what is shown, the query how. So a link, a
// reload and the browser's back button lead to the same view.

import {computed, signal} from '@preact/signals';

const address = signal(location.pathname + location.search);

export const path = computed(() => address.value.split('?')[0] ?? '/');
export const query = computed(() => new URLSearchParams(address.value.split('?')[1] ?? ''));
// "/nodes/a" as ["nodes", "a"].
export const steps = computed(() =>
  path.value
    .split('/')
    .filter((step) => step !== '')
    .map(decode),
);

function decode(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}

export function follow(): void {
  addEventListener('popstate', () => {
    address.value = location.pathname + location.search;
  });
  document.addEventListener('click', (event) => {
    const anchor = (event.target as Element).closest('a');
    const plain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey;
    if (!anchor || !plain || anchor.origin !== location.origin || anchor.target) return;
    if (anchor.hash) return;
    event.preventDefault();
    go(anchor.pathname + anchor.search);
  });
}

export function go(to: string): void {
  if (to === address.value) return;
  history.pushState(null, '', to);
  address.value = to;
  scrollTo(0, 0);
}

// Changes parts of the query in place; "" removes a part.
export function setQuery(changes: Record<string, string>): void {
  const next = new URLSearchParams(query.value);
  for (const [name, value] of Object.entries(changes)) {
    if (value) next.set(name, value);
    else next.delete(name);
  }
  const text = next.toString();
  const to = path.value + (text ? `?${text}` : '');
  history.replaceState(null, '', to);
  address.value = to;
}

export const param = (name: string, otherwise = ''): string => query.value.get(name) ?? otherwise;

export const linkTo = (...parts: string[]): string =>
  `/${parts.map((part) => encodeURIComponent(part)).join('/')}`;
export const podLink = (key: string): string => linkTo('pods', ...key.split('/'));
export const nodeLink = (name: string): string => linkTo('nodes', name);
