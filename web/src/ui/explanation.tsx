// The words of koord-scheduler and koord-manager about an object: what `koordctl explain` prints.

import {useEffect, useState} from 'preact/hooks';
import {ask} from '../feed/api.ts';
import {status} from '../feed/connection.ts';

const PERIOD_MS = 10_000;

// The answer of a question that is asked again while it is visible. `params` must be stable.
export function useAnswer<T>(
  path: string,
  params: Record<string, string>,
  enabled = true,
  periodMs = PERIOD_MS,
): {answer?: T; problem?: string} {
  const [result, setResult] = useState<{answer?: T; problem?: string}>({});
  const key = path + JSON.stringify(params);
  useEffect(() => {
    setResult({});
    if (!enabled) return undefined;
    let live = true;
    const once = async () => {
      try {
        const answer = await ask<T>(path, params);
        if (live) setResult({answer});
      } catch (error) {
        const problem = error instanceof Error ? error.message : String(error);
        if (live) setResult((before) => ({...before, problem}));
      }
    };
    void once();
    const timer = setInterval(() => {
      if (!document.hidden) void once();
    }, periodMs);
    return () => {
      live = false;
      clearInterval(timer);
    };
  }, [key, enabled]);
  return result;
}

export function Explanation({kind, name}: {kind: string; name: string}) {
  const able = status.value?.explains ?? false;
  const {answer, problem} = useAnswer<{text: string}>('explain', {kind, name}, able);
  let text = answer?.text ?? 'Asking koord-scheduler …';
  if (problem && !answer) text = problem;
  if (!able) text = `This console does not explain: koordctl explain ${kind} ${name} does.`;
  return (
    <section class="card explanation">
      <h2>What the components say</h2>
      <pre class={problem && !answer ? 'problem' : ''} tabIndex={0}>
        {text}
      </pre>
    </section>
  );
}
