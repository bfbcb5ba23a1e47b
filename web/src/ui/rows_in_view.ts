// Which rows of a long list are visible: the arithmetic of the virtual list.

export interface View {
  first: number;
  count: number; // rows to draw
  before: number; // pixels above them
  total: number; // pixels of all rows
}

// Draws some rows beyond both edges, so that a scrolling wheel does not reach the undrawn ones.
const SPARE = 6;

export function rowsInView(rows: number, height: number, top: number, visible: number): View {
  const first = Math.max(0, Math.min(Math.floor(top / height) - SPARE, rows - 1));
  const count = Math.min(rows - first, Math.ceil(visible / height) + 2 * SPARE);
  return {first, count: Math.max(0, count), before: first * height, total: rows * height};
}

// Browsers limit the height of an element to some 16 million pixels (Chromium: 2^24), beyond which
// rows would not be reachable: 500,000 rows of this height are below it.
export const ROW_HEIGHT = 32;
