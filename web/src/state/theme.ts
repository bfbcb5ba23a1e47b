// Light, dark, or that of the system.

import {signal} from '@preact/signals';

export type Theme = 'system' | 'light' | 'dark';
const KEY = 'koordinator-console-theme';
const stored = localStorage.getItem(KEY);
const dark = matchMedia('(prefers-color-scheme: dark)');

export const theme = signal<Theme>(stored === 'light' || stored === 'dark' ? stored : 'system');
// True while the page is dark. Canvases depend on it, since CSS does not reach them.
export const isDark = signal(false);

function show(): void {
  isDark.value = theme.value === 'dark' || (theme.value === 'system' && dark.matches);
  document.documentElement.dataset.theme = isDark.value ? 'dark' : 'light';
}

export function setTheme(next: Theme): void {
  theme.value = next;
  localStorage.setItem(KEY, next);
  show();
}

export function followTheme(): void {
  dark.addEventListener('change', show);
  show();
}

// The value of a colour of the style sheet, e.g. "batch".
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
