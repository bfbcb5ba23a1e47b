// Why a simulation has no answer, in words, and what the user can do.

export interface Problem {
  title: string;
  why: string;
  help: string;
}

const COMMAND = 'koordctl simulate -f FILE asks from a host that reaches it.';
const problems: Record<number, [string, string]> = {
  400: ['The question is not valid', 'Correct it and ask again.'],
  403: [
    'You lack a right',
    'A simulation needs the rights to do what it supposes. The ClusterRole ' +
      'koord-scheduler-simulate allows to ask.',
  ],
  404: [
    'No koord-scheduler that simulates is reached',
    `Is it running? koordctl console takes its address with --scheduler. ${COMMAND}`,
  ],
  413: [
    'The question is too large',
    'The console takes 1 MiB. koordctl simulate -f FILE takes 3 MiB.',
  ],
  429: ['Too many simulations run now', 'Ask again in a moment.'],
  502: ['koord-scheduler does not answer', `Is it running? ${COMMAND}`],
  503: ['koord-scheduler cannot simulate now', `Ask again in a moment. ${COMMAND}`],
  504: ['There is no answer in time', 'Ask about less: fewer pods or fewer nodes.'],
};

// An answer of koord-scheduler itself. The console answers 502 if koord-scheduler answers 503.
const OWN_WORDS = /^koord-scheduler: (.*) \(status (\d+)\)$/s;

// What went wrong, in words. status: of HTTP; 0 = the console did not answer.
export function problemOf(status: number, message: string): Problem {
  const [, why = message, own = status] = OWN_WORDS.exec(message) ?? [];
  const [title, help] = problems[Number(own)] ?? ['There is no answer', 'Ask again.'];
  const object = /^spec\.objects\[(\d+)\]/.exec(why);
  const place = object ? `It is object ${Number(object[1]) + 1} of the manifest. ` : '';
  return {title, why, help: place + help};
}
