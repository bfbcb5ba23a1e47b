// The objects of the cluster as the feed sends them: arrays with a fixed order of columns, of which
// trailing empty ones are left out. src/console/rows writes them. CPU is in thousandths of a core,
// memory in MiB, GPU in hundredths of a device, times in seconds since 1970; 0 means unknown.

export type Row = unknown[];

// Equal texts of many rows share one string. Over days there are too many texts, such as reasons,
// to keep all of them: at the limit it forgets them, and later rows share their own.
export class SharedTexts {
  private readonly texts = new Map<string, string>();

  constructor(private readonly most: number) {}

  of(text: string): string {
    const known = this.texts.get(text);
    if (known !== undefined) return known;
    if (this.texts.size >= this.most) this.texts.clear();
    this.texts.set(text, text);
    return text;
  }
  get size(): number {
    return this.texts.size;
  }
}

const texts = new SharedTexts(50_000);
const shared = (value: unknown): string => texts.of(text(value));

const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const count = (value: unknown): number => (typeof value === 'number' ? value : 0);
const flag = (value: unknown): boolean => value === 1 || value === true;
const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

export type PriorityClass = 'prod' | 'mid' | 'batch' | 'free' | '';

export class Pod {
  readonly namespace: string;
  readonly name: string;
  readonly node: string;
  readonly phase: string;
  readonly qos: string;
  readonly priorityClass: PriorityClass;
  readonly cpu: number;
  readonly memory: number;
  readonly gpu: number;
  readonly created: number;
  readonly bound: number;
  readonly started: number;
  readonly ready: number;
  readonly quota: string;
  readonly gang: string;
  readonly owner: string;
  readonly reason: string;
  readonly cpus: string;
  readonly devices: string;
  readonly priority: number;
  readonly required: number; // members of its gang, if the pod says it

  constructor(
    readonly key: string,
    row: Row,
  ) {
    this.namespace = shared(row[0]);
    this.name = text(row[1]);
    this.node = shared(row[2]);
    this.phase = shared(row[3]);
    this.qos = shared(row[4]);
    this.priorityClass = shared(row[5]) as PriorityClass;
    this.cpu = count(row[6]);
    this.memory = count(row[7]);
    this.gpu = count(row[8]);
    this.created = count(row[9]);
    this.bound = count(row[10]);
    this.started = count(row[11]);
    this.ready = count(row[12]);
    this.quota = shared(row[13]);
    this.gang = shared(row[14]);
    this.owner = shared(row[15]);
    this.reason = shared(row[16]);
    this.cpus = text(row[17]);
    this.devices = shared(row[18]);
    this.priority = count(row[19]);
    this.required = count(row[20]);
  }

  get ended(): boolean {
    return this.phase === 'Succeeded' || this.phase === 'Failed';
  }
  get waits(): boolean {
    return this.node === '' && !this.ended;
  }
}

export class Node {
  readonly name: string;
  readonly ready: boolean;
  readonly cordoned: boolean;
  readonly cpu: number;
  readonly memory: number;
  readonly batchCpu: number;
  readonly batchMemory: number;
  readonly midCpu: number;
  readonly midMemory: number;
  readonly gpus: number;
  readonly places: string[]; // from the largest to the smallest: zone, block, rack
  readonly created: number;
  readonly note: string; // why it is not ready
  readonly kind: string; // "simulated", "this host", ""

  constructor(
    readonly key: string,
    row: Row,
  ) {
    this.name = shared(row[0]);
    this.ready = flag(row[1]);
    this.cordoned = flag(row[2]);
    this.cpu = count(row[3]);
    this.memory = count(row[4]);
    this.batchCpu = count(row[5]);
    this.batchMemory = count(row[6]);
    this.midCpu = count(row[7]);
    this.midMemory = count(row[8]);
    this.gpus = count(row[9]);
    this.places = list(row[10]).map(shared);
    this.created = count(row[11]);
    this.note = text(row[12]);
    this.kind = shared(row[13]);
  }
}

// What koordlet measured on a node.
export class Metric {
  readonly updated: number;
  readonly cpu: number;
  readonly memory: number;
  readonly systemCpu: number;
  readonly systemMemory: number;
  readonly batchCpu: number;
  readonly batchMemory: number;

  constructor(
    readonly key: string,
    row: Row,
  ) {
    this.updated = count(row[1]);
    this.cpu = count(row[2]);
    this.memory = count(row[3]);
    this.systemCpu = count(row[4]);
    this.systemMemory = count(row[5]);
    this.batchCpu = count(row[6]);
    this.batchMemory = count(row[7]);
  }
}

// Amounts by resource: cpu in thousandths, memory in MiB, others as they are.
export type Amounts = Record<string, number>;
const amounts = (value: unknown): Amounts =>
  value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Amounts) : {};

export class Quota {
  readonly namespace: string;
  readonly name: string;
  readonly parent: string;
  readonly tree: string;
  readonly min: Amounts;
  readonly max: Amounts;
  readonly used: Amounts;
  readonly runtime: Amounts;
  readonly request: Amounts;
  readonly lends: boolean;
  readonly created: number;

  constructor(
    readonly key: string,
    row: Row,
  ) {
    this.namespace = shared(row[0]);
    this.name = shared(row[1]);
    this.parent = shared(row[2]);
    this.tree = shared(row[3]);
    this.min = amounts(row[4]);
    this.max = amounts(row[5]);
    this.used = amounts(row[6]);
    this.runtime = amounts(row[7]);
    this.request = amounts(row[8]);
    this.lends = flag(row[9]);
    this.created = count(row[10]);
  }
}

export class Gang {
  readonly namespace: string;
  readonly name: string;
  readonly minMember: number;
  readonly phase: string;
  readonly created: number;
  readonly waitSeconds: number;
  readonly message: string;

  constructor(
    readonly key: string,
    row: Row,
  ) {
    this.namespace = shared(row[0]);
    this.name = shared(row[1]);
    this.minMember = count(row[2]);
    this.phase = shared(row[3]);
    this.created = count(row[4]);
    this.waitSeconds = count(row[5]);
    this.message = text(row[6]);
  }
}

export class Move {
  readonly name: string;
  readonly pod: string;
  readonly phase: string;
  readonly from: string;
  readonly to: string;
  readonly why: string;
  readonly message: string;
  readonly created: number;
  readonly changed: number;

  constructor(
    readonly key: string,
    row: Row,
  ) {
    this.name = text(row[0]);
    this.pod = text(row[1]);
    this.phase = shared(row[2]) || 'Pending';
    this.from = shared(row[3]);
    this.to = shared(row[4]);
    this.why = shared(row[5]);
    this.message = shared(row[6]);
    this.created = count(row[7]);
    this.changed = count(row[8]);
  }
  get open(): boolean {
    return this.phase === 'Pending' || this.phase === 'Running';
  }
}

export class Reservation {
  readonly name: string;
  readonly phase: string;
  readonly node: string;
  readonly allocatable: Amounts;
  readonly allocated: Amounts;
  readonly owners: string; // which pods may use it
  readonly users: string[]; // the pods that use it
  readonly created: number;
  readonly expires: number; // 0 = never
  readonly once: boolean;
  readonly message: string;

  constructor(
    readonly key: string,
    row: Row,
  ) {
    this.name = text(row[0]);
    this.phase = shared(row[1]) || 'Pending';
    this.node = shared(row[2]);
    this.allocatable = amounts(row[3]);
    this.allocated = amounts(row[4]);
    this.owners = text(row[5]);
    this.users = list(row[6]).map(text);
    this.created = count(row[7]);
    this.expires = count(row[8]);
    this.once = flag(row[9]);
    this.message = text(row[10]);
  }
}

// How many leading columns are the key.
export const keyColumns = {
  pods: 2,
  nodes: 1,
  metrics: 1,
  quotas: 2,
  gangs: 2,
  moves: 1,
  reservations: 1,
} as const;
export type TableName = keyof typeof keyColumns;

export function keyOf(table: TableName, row: Row): string {
  return keyColumns[table] === 2 ? `${text(row[0])}/${text(row[1])}` : text(row[0]);
}
