// All nodes as squares, grouped by place. One canvas, since 5,000 elements would be slow; the table
// below it has the same nodes for keyboards and screen readers.

import {useEffect, useMemo, useRef, useState} from 'preact/hooks';
import type {Node} from '../feed/rows.ts';
import type {Place} from '../model/places.ts';
import {go, nodeLink} from '../state/route.ts';
import {colour, isDark} from '../state/theme.ts';
import {useWidth} from './use_width.ts';

interface Tile {
  x: number;
  y: number;
  node: Node;
}
interface Label {
  x: number;
  y: number;
  text: string;
  width: number;
}
export interface Layout {
  tiles: Tile[];
  labels: Label[];
  size: number;
  height: number;
}

const GAP = 2;
const LABEL = 18;
const SPACE = 12; // between places

// Places side by side, as squares of about the same shape; a place that does not fit begins a line.
export function layoutOf(places: Place[], width: number): Layout {
  const all = places.reduce((sum, place) => sum + place.nodes.length, 0);
  const size = all > 2000 ? 9 : all > 400 ? 13 : all > 60 ? 20 : 34;
  const step = size + GAP;
  const named = places.length > 1 || (places[0]?.name ?? '') !== '';
  const layout: Layout = {tiles: [], labels: [], size, height: 0};
  const most = Math.max(1, Math.floor(width / step));
  let x = 0,
    y = 0,
    lineHeight = 0;
  for (const place of places) {
    const across = named
      ? Math.min(
          most,
          Math.max(Math.ceil(88 / step), Math.ceil(Math.sqrt(place.nodes.length * 1.6))),
        )
      : most;
    const down = Math.ceil(place.nodes.length / across);
    const wide = across * step;
    if (x > 0 && x + wide > width) {
      x = 0;
      y += lineHeight + SPACE;
      lineHeight = 0;
    }
    const top = named ? LABEL : 0;
    if (named)
      layout.labels.push({x, y: y + 12, text: place.name || 'no zone or rack', width: wide});
    place.nodes.forEach((node, i) =>
      layout.tiles.push({
        node,
        x: x + (i % across) * step,
        y: y + top + Math.floor(i / across) * step,
      }),
    );
    lineHeight = Math.max(lineHeight, top + down * step);
    x += wide + SPACE;
  }
  layout.height = y + lineHeight;
  return layout;
}

// A scale of one hue from light to dark, the same for all kinds of colour blindness.
function fillOf(share: number, scale: string[]): string {
  return scale[Math.max(0, Math.min(scale.length - 1, Math.floor(share * scale.length)))] ?? '';
}

function draw(
  canvas: HTMLCanvasElement,
  layout: Layout,
  width: number,
  shareOf: (node: Node) => number | null,
): void {
  const ratio = devicePixelRatio || 1;
  canvas.width = width * ratio;
  canvas.height = layout.height * ratio;
  const context = canvas.getContext('2d');
  if (!context) return;
  context.scale(ratio, ratio);
  const scale = [0, 1, 2, 3, 4, 5, 6, 7].map((i) => colour(`scale-${i}`));
  context.fillStyle = colour('quiet');
  context.font = '12px system-ui, sans-serif';
  for (const label of layout.labels) context.fillText(label.text, label.x, label.y, label.width);
  const alarm = colour('alarm');
  for (const {x, y, node} of layout.tiles) {
    const share = shareOf(node);
    if (share === null) {
      // Only an outline, which no colour of the scale has.
      context.strokeStyle = colour('capacity');
      context.lineWidth = 1;
      context.strokeRect(x + 0.5, y + 0.5, layout.size - 1, layout.size - 1);
    } else {
      context.fillStyle = fillOf(share, scale);
      context.fillRect(x, y, layout.size, layout.size);
    }
    if (node.ready && !node.cordoned) continue;
    // A mark that does not depend on colour: a cross if not ready, a bar if cordoned.
    context.strokeStyle = node.ready ? colour('text') : alarm;
    context.lineWidth = 1.5;
    context.beginPath();
    context.moveTo(x + 1, y + layout.size - 1);
    context.lineTo(x + layout.size - 1, y + 1);
    if (!node.ready) {
      context.moveTo(x + 1, y + 1);
      context.lineTo(x + layout.size - 1, y + layout.size - 1);
    }
    context.stroke();
  }
}

function tileAt(layout: Layout, event: MouseEvent): Tile | null {
  const reach = layout.size + GAP;
  const isOver = ({x, y}: Tile) =>
    event.offsetX >= x &&
    event.offsetX < x + reach &&
    event.offsetY >= y &&
    event.offsetY < y + reach;
  return layout.tiles.find(isOver) ?? null;
}

export function NodeMap({
  places,
  shareOf,
  meaning,
}: {
  places: Place[];
  shareOf: (node: Node) => number | null;
  meaning: string;
}) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const width = useWidth(box);
  const [hovered, setHovered] = useState<Tile | null>(null);
  const layout = useMemo(() => layoutOf(places, width), [places, width]);
  useEffect(() => {
    if (canvas.current && width > 0) draw(canvas.current, layout, width, shareOf);
  }, [layout, width, shareOf, isDark.value]);
  const share = hovered ? shareOf(hovered.node) : null;
  return (
    <section class="card map-card">
      <div class="map-head">
        <h2>{meaning}</h2>
        <span class="map-name">
          {hovered
            ? `${hovered.node.name}: ` +
              (share === null ? 'not measured' : `${Math.round(100 * share)} %`)
            : '\u00a0'}
        </span>
        <Scale />
      </div>
      <div ref={box} class="map" style={{height: `${layout.height}px`}}>
        <canvas
          ref={canvas}
          role="img"
          class={hovered ? 'linked' : ''}
          aria-label={`Map of the nodes by ${meaning}; the table below has the values`}
          style={{width: `${width}px`, height: `${layout.height}px`}}
          onMouseMove={(event) => setHovered(tileAt(layout, event))}
          onMouseLeave={() => setHovered(null)}
          onClick={(event) => {
            const tile = tileAt(layout, event);
            if (tile) go(nodeLink(tile.node.name));
          }}
        />
      </div>
    </section>
  );
}

function Scale() {
  return (
    <span class="scale" aria-hidden="true">
      <span>0 %</span>
      {[0, 1, 2, 3, 4, 5, 6, 7].map((i) => (
        <i key={i} class={`scale-${i}`} />
      ))}
      <span>100 %</span>
      <i class="unknown" />
      <span>not measured</span>
    </span>
  );
}
