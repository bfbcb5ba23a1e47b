import {render} from 'preact';
import 'uplot/dist/uPlot.min.css';
import './style/base.css';
import './style/frame.css';
import './style/parts.css';
import './style/table.css';
import './style/pages.css';
import './style/whatif.css';
import {App} from './app.tsx';
import {connection, takeNamespaces, takeToken} from './feed/api.ts';
import {follow} from './state/route.ts';
import {followTheme} from './state/theme.ts';
import {followKeys} from './ui/search_box.tsx';

takeToken();
takeNamespaces();
// The address that koordctl prints, opened in a tab that shows the page already.
addEventListener('hashchange', () => {
  if (takeToken()) location.reload();
});
followTheme();
follow();
followKeys();
connection.start();
const root = document.getElementById('app');
if (root) render(<App />, root);
