// Shares of a whole as rectangles, in two levels, by d3-hierarchy's squarified layout.

import {hierarchy, treemap, type HierarchyRectangularNode} from 'd3-hierarchy';
import {useMemo, useRef} from 'preact/hooks';
import type {Share} from '../model/cluster.ts';
import {useWidth} from './use_width.ts';

const HEIGHT = 260;

export function Treemap({
  label,
  shares,
  format,
}: {
  label: string;
  shares: Share[];
  format: (value: number) => string;
}) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const root = useMemo(() => {
    const tree = hierarchy<Share>({name: '', value: 0, children: shares}).sum((share) =>
      share.children ? 0 : share.value,
    );
    return treemap<Share>()
      .size([width, HEIGHT])
      .paddingInner(2)
      .paddingTop((node) => (node.depth === 1 && node.x1 - node.x0 > 40 ? 20 : 0))
      .round(true)(tree);
  }, [shares, width]);
  return (
    <div ref={box} class="treemap" role="img" aria-label={label} style={{height: `${HEIGHT}px`}}>
      {(root.children ?? []).map((space, i) => [
        <Box key={space.data.name} node={space} tone={`tone-${i % 6}`} format={format} group />,
        ...(space.children ?? []).map((owner) => (
          <Box
            key={`${space.data.name}/${owner.data.name}`}
            node={owner}
            tone={`tone-${i % 6}`}
            format={format}
          />
        )),
      ])}
    </div>
  );
}

function Box({
  node,
  tone,
  format,
  group,
}: {
  node: HierarchyRectangularNode<Share>;
  tone: string;
  format: (value: number) => string;
  group?: boolean;
}) {
  const width = node.x1 - node.x0;
  const height = node.y1 - node.y0;
  const text = `${node.data.name}: ${format(node.value ?? 0)}`;
  const style = {
    left: `${node.x0}px`,
    top: `${node.y0}px`,
    width: `${width}px`,
    height: `${height}px`,
  };
  return (
    <div class={`${group ? 'tree-group' : 'tree-leaf'} ${tone}`} style={style} title={text}>
      {width > 44 && height > 16 && <span>{group ? text : node.data.name}</span>}
    </div>
  );
}
