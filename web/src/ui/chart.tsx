// Lines over time, by uPlot. The height is fixed, so nothing moves when data arrive.

import {useEffect, useRef, useState} from 'preact/hooks';
import uPlot from 'uplot';
import {clockOf, tickTexts} from '../model/format.ts';
import {colour, isDark} from '../state/theme.ts';

export interface Line {
  label: string;
  colour: string; // a colour of the style sheet
  values: (number | null)[];
  fill?: boolean;
  dash?: boolean;
}

interface ChartProps {
  label: string;
  times: number[];
  lines: Line[];
  format: (value: number) => string;
  height?: number;
}

function optionsOf(
  props: ChartProps,
  width: number,
  onCursor: (index: number | null) => void,
): uPlot.Options {
  const axis = {
    stroke: colour('quiet'),
    grid: {stroke: colour('line'), width: 1},
    ticks: {show: false},
    font: '12px system-ui, sans-serif',
  };
  return {
    width,
    height: props.height ?? 240,
    legend: {show: false},
    padding: [8, 28, 0, 0], // right: half of a tick's text
    hooks: {setCursor: [(plot) => onCursor(plot.cursor.idx ?? null)]},
    cursor: {drag: {x: false, y: false}, points: {size: 6}},
    scales: {x: {time: true}, y: {range: (_plot, _low, high) => [0, (high || 1) * 1.08]}},
    axes: [
      {
        ...axis,
        size: 28,
        space: 76,
        values: (_plot, ticks) => tickTexts(ticks),
      },
      {...axis, size: 64, values: (_plot, ticks) => ticks.map(props.format)},
    ],
    series: [
      {},
      ...props.lines.map((line): uPlot.Series => ({
        label: line.label,
        stroke: colour(line.colour),
        width: 2,
        points: {show: false},
        ...(line.dash ? {dash: [6, 4]} : {}),
        ...(line.fill ? {fill: `${colour(line.colour)}26`} : {}),
      })),
    ],
  };
}

const dataOf = (props: ChartProps): uPlot.AlignedData =>
  [props.times, ...props.lines.map((line) => line.values)] as uPlot.AlignedData;

export function Chart(props: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const [cursor, setCursor] = useState<number | null>(null);
  const shape = props.lines.map((line) => line.label).join() + isDark.value + props.format(1234567);
  useEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const made = new uPlot(
      optionsOf(props, element.clientWidth, setCursor),
      dataOf(props),
      element,
    );
    plot.current = made;
    const observer = new ResizeObserver(() =>
      made.setSize({width: element.clientWidth, height: props.height ?? 240}),
    );
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
    };
  }, [shape]);
  useEffect(() => plot.current?.setData(dataOf(props)), [props.times, props.lines]);

  const last = (line: Line) =>
    cursor === null ? line.values.findLast((value) => value !== null) : line.values[cursor];
  const at = cursor === null ? undefined : props.times[cursor];
  return (
    <figure class="chart">
      <figcaption class="legend">
        <time class="legend-time">{at === undefined ? 'now' : clockOf(at, true)}</time>
        {props.lines.map((line) => {
          const value = last(line);
          return (
            <span key={line.label}>
              <i class={`key ${line.colour}${line.dash ? ' dashed' : ''}`} />
              {line.label}
              <b>{value === undefined || value === null ? '–' : props.format(value)}</b>
            </span>
          );
        })}
      </figcaption>
      <div
        ref={box}
        class="plot"
        role="img"
        aria-label={props.label}
        style={{height: `${props.height ?? 240}px`}}
      />
      {props.times.length < 2 && (
        <p class="chart-note">Samples are taken each 15 s; lines appear after the second.</p>
      )}
    </figure>
  );
}
