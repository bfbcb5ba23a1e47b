// Where a console of many users asks who the user is.

import {useState} from 'preact/hooks';
import {signedIn, signIn} from '../feed/api.ts';
import {Empty} from './empty.tsx';

export function SignIn() {
  const [token, setToken] = useState('');
  const submit = (event: Event) => {
    event.preventDefault();
    if (token.trim()) signIn(token.trim());
  };
  return (
    <Empty title={signedIn() ? 'The token is not valid, or has expired' : 'Who are you?'}>
      <p>
        The console shows what your roles let you list. It needs a token of the cluster, which stays
        in this tab: <code>kubectl create token ACCOUNT -n NAMESPACE</code> prints one of a service
        account.
      </p>
      <form class="ask sign-in" onSubmit={submit}>
        <input
          class="filter"
          type="password"
          name="token"
          autocomplete="off"
          aria-label="Token of the cluster"
          placeholder="Token"
          value={token}
          onInput={(event) => setToken(event.currentTarget.value)}
        />
        <button type="submit" class="primary">
          Show the cluster
        </button>
      </form>
    </Empty>
  );
}
