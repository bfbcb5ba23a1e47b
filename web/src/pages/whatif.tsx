// What would happen if? A manifest goes to the simulation of the console's program, which answers
// with text. Without one the page says how to ask on the command line.

import {useState} from 'preact/hooks';
import {ask} from '../feed/api.ts';
import {status} from '../feed/connection.ts';
import {Card, Heading} from '../ui/bits.tsx';
import {Empty} from '../ui/empty.tsx';

export function WhatIfPage() {
  const [manifest, setManifest] = useState('');
  const [answer, setAnswer] = useState('');
  if (!status.value?.simulates)
    return (
      <Empty title="This console does not simulate">
        <p>koordctl simulate -f FILE asks koord-scheduler what would happen with a manifest.</p>
      </Empty>
    );
  const simulate = async () => {
    setAnswer('Simulating …');
    try {
      setAnswer((await ask<{text: string}>('simulate', {}, manifest)).text);
    } catch (error) {
      setAnswer(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <>
      <Heading title="What would happen if?" />
      <div class="columns">
        <Card title="Manifest">
          <textarea
            class="manifest"
            aria-label="Manifest of a pod or a workload"
            value={manifest}
            spellcheck={false}
            onInput={(event) => setManifest(event.currentTarget.value)}
          />
          <button
            type="button"
            class="primary"
            disabled={manifest.trim() === ''}
            onClick={() => void simulate()}
          >
            Simulate
          </button>
        </Card>
        <Card title="Result">
          <pre tabIndex={0}>{answer || 'Nothing changes in the cluster.'}</pre>
        </Card>
      </div>
    </>
  );
}
