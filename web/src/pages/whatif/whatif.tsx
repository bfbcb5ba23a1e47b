// What would happen if? A manifest, nodes that are drained, lost or added and a configuration go to
// koord-scheduler as a simulation. The nodes of the question are in the address, the texts are not.
// A link with nodes asks at once, because asking changes nothing.

import {signal} from '@preact/signals';
import {useEffect} from 'preact/hooks';
import {ask, AskError} from '../../feed/api.ts';
import {status} from '../../feed/connection.ts';
import {summaryOf, type Status} from '../../model/whatif/answer.ts';
import {problemOf, type Problem} from '../../model/whatif/problem.ts';
import {
  changesNodes,
  isEmpty,
  isTooLarge,
  questionOf,
  requestOf,
  type Question,
} from '../../model/whatif/question.ts';
import {query, setQuery} from '../../state/route.ts';
import {Heading} from '../../ui/bits.tsx';
import {Empty} from '../../ui/empty.tsx';
import {Answer} from './answer.tsx';
import {AddCard, ConfigurationCard, ManifestCard, NodesCard, texts} from './question.tsx';

// These outlive the page, so that the way back from a node leads to the same answer.
const asked = signal(''); // the request that `result` answers
const result = signal<{answer?: Status; problem?: Problem; running?: boolean}>({});
let asking = new AbortController(); // of the last question

async function simulate(question: Question): Promise<void> {
  const request = requestOf(question);
  asked.value = request;
  asking.abort(); // so that koord-scheduler does not simulate what is not awaited
  const {signal: abandoned} = (asking = new AbortController());
  if (isTooLarge(request)) {
    result.value = {problem: problemOf(413, 'It has more than 1 MiB.')};
    return;
  }
  result.value = {running: true};
  let next: typeof result.value;
  try {
    const {status: answer} = await ask<{status?: Status}>('simulate', {}, request, abandoned);
    next = answer ? {answer} : {problem: problemOf(502, 'The answer has no status.')};
  } catch (error) {
    const code = error instanceof AskError ? error.status : 0;
    next = {problem: problemOf(code, error instanceof Error ? error.message : String(error))};
  }
  if (!abandoned.aborted) result.value = next;
}

export function WhatIfPage() {
  const question = questionOf(query.value, texts());
  const able = status.value?.simulates;
  const request = requestOf(question);
  useEffect(() => {
    if (able && changesNodes(question) && asked.value !== request) void simulate(question);
  }, [able]);
  if (able === false)
    return (
      <Empty title="This console does not simulate">
        <p>koordctl simulate -f FILE asks koord-scheduler what would happen with a manifest.</p>
      </Empty>
    );
  const run = () => {
    if (!isEmpty(question)) void simulate(question);
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) run();
  };
  return (
    <>
      <Heading title="What would happen if?" />
      <div class="columns" onKeyDown={onKey}>
        <div>
          <ManifestCard />
          <ConfigurationCard />
        </div>
        <div>
          <NodesCard question={question} what="drain" />
          <NodesCard question={question} what="lose" />
          <AddCard question={question} />
          <p class="ask">
            <button type="button" class="primary" disabled={isEmpty(question)} onClick={run}>
              Simulate
            </button>
            <span class="quiet">
              Nothing changes in the cluster. <kbd>Ctrl</kbd> <kbd>Enter</kbd> asks, too.
            </span>
          </p>
        </div>
      </div>
      <p class="unseen" role="status">
        {result.value.running ? 'koord-scheduler simulates' : ''}
        {result.value.answer ? summaryOf(result.value.answer) : ''}
      </p>
      <Result stale={asked.value !== '' && asked.value !== request} />
    </>
  );
}

function Result({stale}: {stale: boolean}) {
  const {answer, problem, running} = result.value;
  if (running) return <p class="note">koord-scheduler simulates …</p>;
  if (problem)
    return (
      <section class="card" role="alert">
        <h2>{problem.title}</h2>
        <p class="problem-text">{problem.why}</p>
        <p class="quiet">{problem.help}</p>
      </section>
    );
  if (!answer)
    return (
      <Empty title="Nothing is asked yet">
        <p>
          koord-scheduler plays the question through in a copy of itself: where pods go, which pods
          are preempted, what stays pending and what it takes.
        </p>
      </Empty>
    );
  return (
    <>
      {stale && <p class="note">The answer below is that of the question before.</p>}
      <Answer
        status={answer}
        onAddNodes={(count, like) => {
          setQuery({add: String(count), like, by: ''});
          void simulate(questionOf(query.value, texts()));
        }}
      />
    </>
  );
}
