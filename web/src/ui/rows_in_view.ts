// Which rows of a long list are drawn, and in which elements: the arithmetic of the virtual list.
//
// The first drawn row is a multiple of STEP, so a list that is scrolled by some pixels keeps its
// rows, and a list that is scrolled by STEP rows gets as many others. Each row has a slot; the row
// that comes into view takes the slot, and so the elements, of the row that leaves.

export interface View {
  first: number;
  count: number; // rows to draw
  total: number; // pixels of all rows
  slots: number; // the slot of row i is i % slots; all drawn rows have different ones
}

const STEP = 4;
// Draws some rows beyond both edges, so that a scrolling wheel does not reach the undrawn ones.
const SPARE = 6;

export function rowsInView(rows: number, height: number, top: number, visible: number): View {
  const slots = Math.ceil(visible / height) + STEP + 2 * SPARE;
  const last = Math.max(0, rows - slots);
  const first = Math.floor((Math.floor(top / height) - SPARE) / STEP) * STEP;
  const begin = Math.max(0, Math.min(first, Math.ceil(last / STEP) * STEP));
  return {first: begin, count: Math.min(rows - begin, slots), total: rows * height, slots};
}

// Browsers limit the height of an element to some 16 million pixels (Chromium: 2^24), beyond which
// rows would not be reachable: 500,000 rows of this height are below it.
export const ROW_HEIGHT = 32;
