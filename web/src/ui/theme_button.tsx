import {setTheme, theme, type Theme} from '../state/theme.ts';

const next: Record<Theme, Theme> = {system: 'light', light: 'dark', dark: 'system'};
const shown: Record<Theme, [string, string]> = {
  system: ['◐', 'Auto'],
  light: ['○', 'Light'],
  dark: ['●', 'Dark'],
};

export function ThemeButton() {
  return (
    <button
      type="button"
      class="plain"
      title="Colours: of the system, light or dark"
      aria-label={`Colours: ${shown[theme.value][1]}`}
      onClick={() => setTheme(next[theme.value])}
    >
      <span aria-hidden="true">{shown[theme.value][0]} </span>
      <span class="theme-name">{shown[theme.value][1]}</span>
    </button>
  );
}
