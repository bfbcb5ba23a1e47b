// Small parts of many pages.

import type {ComponentChildren} from 'preact';
import {now} from '../feed/connection.ts';
import {age, clock, percent} from '../model/format.ts';

// How old a time is; its exact value as a tooltip.
export function Age({since, ago}: {since: number; ago?: boolean}) {
  if (since <= 0) return <span class="quiet">–</span>;
  const text = age(now.value - since);
  return (
    <time dateTime={clock(since)} title={clock(since)}>
      {text}
      {ago ? ' ago' : ''}
    </time>
  );
}

export interface Part {
  label: string;
  value: number;
  colour: string; // class of the style sheet
}

// A bar of parts of a whole, with an optional mark, such as a limit.
export function Meter(props: {parts: Part[]; whole: number; text?: string; mark?: number}) {
  const share = (value: number) =>
    `${Math.max(0, Math.min(100, props.whole > 0 ? (100 * value) / props.whole : 0))}%`;
  const label =
    props.text ??
    props.parts.map((part) => `${part.label} ${percent(part.value, props.whole)}`).join(', ');
  return (
    <span class="meter" role="img" aria-label={label} title={label}>
      {props.parts.map((part) => (
        <span key={part.label} class={`fill ${part.colour}`} style={{width: share(part.value)}} />
      ))}
      {props.mark !== undefined && props.whole > 0 && (
        <span class="mark" style={{left: share(props.mark)}} />
      )}
    </span>
  );
}

// What of an amount stays, comes and leaves.
export function DifferenceMeter(props: {
  before: number;
  after: number;
  whole: number;
  text: string;
}) {
  const both = Math.min(props.before, props.after);
  return (
    <Meter
      whole={props.whole}
      text={props.text}
      parts={[
        {label: 'stays', value: both, colour: 'requested'},
        {label: 'comes', value: props.after - both, colour: 'used'},
        {label: 'leaves', value: props.before - both, colour: 'leaves'},
      ]}
    />
  );
}

export function Badge({tone, children}: {tone: string; children: ComponentChildren}) {
  return <span class={`badge ${tone}`}>{children}</span>;
}

export function Card({
  title,
  children,
  note,
}: {
  title: string;
  children: ComponentChildren;
  note?: ComponentChildren;
}) {
  return (
    <section class="card">
      <h2>{title}</h2>
      {children}
      {note && <p class="quiet">{note}</p>}
    </section>
  );
}

export function Figure({
  label,
  value,
  unit,
  note,
  tone,
}: {
  label: string;
  value: string;
  unit?: string;
  note?: ComponentChildren;
  tone?: string;
}) {
  return (
    <div class="figure">
      <div class="figure-label">
        {tone && <i class={`dot ${tone}`} />}
        {label}
      </div>
      <div class="figure-value">
        {value}
        {unit && <span class="unit"> {unit}</span>}
      </div>
      <div class="figure-note">{note ?? '\u00a0'}</div>
    </div>
  );
}

// Buttons of which one is pressed.
export function Choice({
  label,
  value,
  options,
  onChange,
}: {
  label: string;
  value: string;
  options: [string, string][];
  onChange: (value: string) => void;
}) {
  return (
    <div class="choice" role="group" aria-label={label}>
      {options.map(([id, text]) => (
        <button key={id} type="button" aria-pressed={id === value} onClick={() => onChange(id)}>
          {text}
        </button>
      ))}
    </div>
  );
}

export function Filter({
  value,
  label,
  onChange,
}: {
  value: string;
  label: string;
  onChange: (value: string) => void;
}) {
  return (
    <input
      class="filter"
      type="search"
      value={value}
      placeholder={label}
      aria-label={label}
      onInput={(event) => onChange(event.currentTarget.value)}
    />
  );
}

export function Heading({title, children}: {title: string; children?: ComponentChildren}) {
  return (
    <header class="heading">
      <h1>{title}</h1>
      {children && <div class="heading-tools">{children}</div>}
    </header>
  );
}

export function Facts({facts}: {facts: [string, ComponentChildren][]}) {
  return (
    <dl class="facts">
      {facts.map(([term, value]) => (
        <div key={term}>
          <dt>{term}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

// What the colours of a picture mean: pairs of colour and text.
export function Legend({items}: {items: [string, string][]}) {
  return (
    <p class="legend small">
      {items.map(([tone, text]) => (
        <span key={tone}>
          <i class={`key ${tone}`} />
          {text}
        </span>
      ))}
    </p>
  );
}
