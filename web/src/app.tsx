// The frame of all pages: name of the cluster, state of the connection, navigation, search.

import type {ComponentType} from 'preact';
import {useEffect, useRef} from 'preact/hooks';
import {signedIn, signOut} from './feed/api.ts';
import {link, now, status} from './feed/connection.ts';
import {age} from './model/format.ts';
import {JobPage, JobsPage} from './pages/jobs.tsx';
import {MovesPage} from './pages/moves.tsx';
import {NodePage} from './pages/node.tsx';
import {NodesPage} from './pages/nodes.tsx';
import {PendingPage} from './pages/pending.tsx';
import {PodPage} from './pages/pod.tsx';
import {PodsPage} from './pages/pods.tsx';
import {QuotasPage} from './pages/quotas.tsx';
import {ReservationsPage} from './pages/reservations.tsx';
import {UsagePage} from './pages/usage.tsx';
import {WhatIfPage} from './pages/whatif/whatif.tsx';
import {steps} from './state/route.ts';
import {Empty, OldNotes} from './ui/empty.tsx';
import {SearchBox, searching} from './ui/search_box.tsx';
import {SignIn} from './ui/sign_in.tsx';
import {ThemeButton} from './ui/theme_button.tsx';

interface Page {
  path: string;
  name: string;
  question: string;
  list: ComponentType<{name?: string}>;
  detail?: ComponentType<{name: string}>;
}

const page = (
  path: string,
  name: string,
  question: string,
  list: Page['list'],
  more: Pick<Page, 'detail'> = {},
): Page => ({path, name, question, list, ...more});

const pages = [
  page('', 'Usage', 'Is the cluster used?', UsagePage),
  page('nodes', 'Nodes', 'What is on this node?', NodesPage, {detail: NodePage}),
  page('pods', 'Pods', 'Where are my pods?', PodsPage, {detail: PodPage}),
  page('pending', 'Pending', 'Why does my pod wait?', PendingPage),
  page('quotas', 'Quotas', 'Who uses the quota?', QuotasPage, {detail: QuotasPage}),
  page('jobs', 'Jobs', 'How stands my job?', JobsPage, {detail: JobPage}),
  page('moves', 'Moves', 'What moves?', MovesPage),
  page('reservations', 'Reservations', 'What holds capacity?', ReservationsPage, {
    detail: ReservationsPage,
  }),
  page('whatif', 'What if', 'What would happen if?', WhatIfPage),
];

export function App() {
  const [first = '', ...rest] = steps.value;
  const current = pages.find((candidate) => candidate.path === first);
  const name = rest.join('/');
  useEffect(() => {
    document.title = `${name || current?.question || 'Not found'} · Koordinator`;
  }, [current, name]);
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <Top />
      <Navigation current={first} />
      <main id="main" tabIndex={-1}>
        <Banner />
        <Shown page={current} name={name} />
      </main>
      <SearchBox />
    </>
  );
}

function Shown({page, name}: {page: Page | undefined; name: string}) {
  const state = link.value;
  if (state.state !== 'refused') return <Content page={page} name={name} />;
  return state.login === 'token' ? <SignIn /> : <Refused />;
}

function Content({page, name}: {page: Page | undefined; name: string}) {
  if (!page)
    return (
      <Empty title="This page does not exist">
        <a href="/">To the start</a>
      </Empty>
    );
  if (name && page.detail) return <page.detail key={name} name={name} />;
  return <page.list />;
}

function Top() {
  const state = link.value;
  const text = {
    connecting: 'Connecting',
    live: 'Live',
    lost: 'Disconnected',
    refused: 'Refused',
  }[state.state];
  const silent = state.state === 'live' && (status.value?.silent ?? 0) > 0;
  return (
    <header class="top">
      <a class="brand" href="/">
        <img src="/icon.svg" alt="" width="22" height="22" />
        Koordinator
      </a>
      <span class="cluster" title="Address of the API server">
        {status.value?.cluster ?? ''}
      </span>
      <button
        type="button"
        class="search-button"
        onClick={() => {
          searching.value = true;
        }}
      >
        <span>Find a node, pod, quota …</span>
        <kbd>/</kbd>
      </button>
      <span class={`link ${silent ? 'lost' : state.state}`} role="status">
        {silent ? 'API server silent' : text}
      </span>
      {status.value?.user && <User name={status.value.user} />}
      <ThemeButton />
    </header>
  );
}

function User({name}: {name: string}) {
  return (
    <span class="user">
      <span class="user-name" title={`You see what ${name} may list`}>
        {name}
      </span>
      {signedIn() && (
        <button type="button" class="secondary" onClick={signOut}>
          Sign out
        </button>
      )}
    </span>
  );
}

function Navigation({current}: {current: string}) {
  const bar = useRef<HTMLElement>(null);
  useEffect(() => {
    bar.current
      ?.querySelector('[aria-current]')
      ?.scrollIntoView({inline: 'center', block: 'nearest'});
  }, [current]);
  return (
    <nav ref={bar} class="side" aria-label="Pages">
      {pages.map((page) => (
        <a
          key={page.path}
          href={`/${page.path}`}
          title={page.question}
          aria-current={page.path === current ? 'page' : undefined}
        >
          <b>{page.name}</b>
          <span>{page.question}</span>
        </a>
      ))}
    </nav>
  );
}

// What the user must know about the age of what is visible.
function Banner() {
  const state = link.value;
  if (state.state === 'lost')
    return (
      <p class="banner" role="alert">
        {state.why ? `The console sends nothing: ${state.why}` : 'The console does not answer'}, so
        this page is from {age(now.value - state.since)} ago. It continues by itself.
      </p>
    );
  const silent = status.value?.silent ?? 0;
  if (silent > 0)
    return (
      <p class="banner" role="alert">
        The API server does not answer, so this page is from {age(silent)} ago: {status.value?.why}
      </p>
    );
  return <OldNotes />;
}

function Refused() {
  return (
    <Empty title="The token of this page is not valid">
      <p>
        koordctl makes a new one at each start. Open the address that it has printed, which ends in
        #token=…
      </p>
    </Empty>
  );
}
