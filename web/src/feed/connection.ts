// Keeps the store up to date: opens the feed, continues after the last change when the connection
// breaks, and says what the state of the connection is.

import {signal} from '@preact/signals';
import {EventParser, type FeedEvent} from './events.ts';
import type {RowsEvent, Store} from './store.ts';
import type {TableName} from './rows.ts';

export interface Access {
  // "loading" until the first list; "namespace": only the objects of one namespace may be listed;
  // "namespaces": the same of a console of many users, for the namespaces of this user.
  state: 'loading' | 'all' | 'namespace' | 'namespaces' | 'forbidden' | 'absent' | 'failed';
  message?: string;
  namespace?: string;
  namespaces?: string[]; // some of them
  count?: number; // all of them
  bounded?: boolean; // there are more namespaces than the console has asked about
}
export interface Status {
  now: number; // seconds since 1970, of the server
  cluster: string; // the address of the API server
  version: string;
  silent?: number; // seconds since the API server answered
  why?: string;
  notes?: string[];
  explains: boolean;
  simulates: boolean;
  older?: boolean; // there is a Prometheus with older history
  user?: string; // of a console of many users
  access: Partial<Record<TableName, Access>>;
}
export type Link =
  | {state: 'connecting'}
  | {state: 'live'}
  // why: of a console that answers, but not with rows; "" = it does not answer
  | {state: 'lost'; since: number; why: string}
  // The token is not valid. login: what is needed, the address that koordctl prints or a token of
  // the cluster.
  | {state: 'refused'; login: 'address' | 'token'};

export const link = signal<Link>({state: 'connecting'});
export const status = signal<Status | null>(null);
// True when every table has arrived once.
export const complete = signal(false);
// The server's clock minus this host's, in seconds.
let skew = 0;
export const now = signal(Date.now() / 1000);

const SILENCE_MS = 20_000;
const LONGEST_PAUSE_MS = 5_000;

export class Connection {
  private last = '';
  private pause = 250;

  constructor(
    private readonly store: Store,
    private readonly headers: () => Record<string, string>,
    private readonly namespaces: () => string,
  ) {}

  start(): void {
    setInterval(() => {
      now.value = Date.now() / 1000 + skew;
    }, 1000);
    addEventListener('online', () => {
      this.pause = 250;
    });
    void this.run();
  }

  private async run(): Promise<void> {
    for (;;) {
      const why = await this.follow().catch(() => '');
      if (link.value.state === 'refused') return;
      const since = link.value.state === 'lost' ? link.value.since : now.value;
      link.value = {state: 'lost', since, why};
      await new Promise((resolve) => setTimeout(resolve, this.pause));
      this.pause = Math.min(this.pause * 2, LONGEST_PAUSE_MS);
    }
  }

  // Returns why it ended, "" if the console does not say.
  private async follow(): Promise<string> {
    const abort = new AbortController();
    let timer = setTimeout(() => abort.abort(), SILENCE_MS);
    try {
      const query = new URLSearchParams();
      if (this.last) query.set('since', this.last);
      if (this.namespaces()) query.set('namespaces', this.namespaces());
      const answer = await fetch(`/api/v1/feed?${query.toString()}`, {
        headers: this.headers(),
        signal: abort.signal,
        cache: 'no-store',
      });
      if (!answer.ok || !answer.body) return await this.refused(answer);
      const parser = new EventParser();
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const {done, value} = await reader.read();
        if (done) return '';
        clearTimeout(timer);
        timer = setTimeout(() => abort.abort(), SILENCE_MS);
        for (const event of parser.push(value)) this.receive(event);
      }
    } finally {
      clearTimeout(timer);
      abort.abort();
    }
  }

  private async refused(answer: Response): Promise<string> {
    const said = (await answer.json().catch(() => null)) as Record<string, unknown> | null;
    if (answer.status === 401)
      link.value = {state: 'refused', login: said?.['login'] === 'address' ? 'address' : 'token'};
    return typeof said?.['message'] === 'string'
      ? said['message']
      : `the answer has the status ${answer.status}`;
  }

  private receive(event: FeedEvent): void {
    const data: unknown = JSON.parse(event.data);
    if (event.name === 'rows') {
      this.store.apply(data as RowsEvent);
      // Rows without an id: the next connection begins again.
      this.last = event.id;
    }
    if (event.name === 'status') {
      const told = data as Status;
      skew = told.now - Date.now() / 1000;
      status.value = told;
      if (link.value.state !== 'live') link.value = {state: 'live'};
      this.pause = 250;
    }
    if (event.name === 'synced') {
      this.store.publish();
      complete.value = true;
    }
  }
}
