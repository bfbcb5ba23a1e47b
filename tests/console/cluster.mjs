// A `koordctl up` with simulated nodes, and `koordctl console` beside it, for the browser tests.

import {execFileSync, spawn} from 'node:child_process';
import {existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {createServer} from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

const URL_LINE = /(http:\/\/\S+#token=\w+)/;

function untilLine(child, stream, pattern, seconds) {
  return new Promise((resolve, reject) => {
    let text = '';
    const timer = setTimeout(
      () => reject(new Error(`no line like ${pattern} in ${seconds} s: ${text}`)),
      seconds * 1000,
    );
    child[stream].on('data', (data) => {
      text += data;
      const match = pattern.exec(text);
      if (!match) return;
      clearTimeout(timer);
      resolve(match[1] ?? match[0]);
    });
    child.on('exit', (status) => reject(new Error(`ended with ${status}: ${text}`)));
  });
}

// A port that stays the same over restarts of the API server.
async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const {port} = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function ended(child) {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => child.once('exit', resolve));
}

export class Cluster {
  constructor(programs) {
    this.programs = programs;
    this.folder = mkdtempSync(join(tmpdir(), 'console-cluster-'));
    this.kubeconfig = join(this.folder, 'kubeconfig');
    this.children = [];
  }

  async start({nodes = 6, shape = ''} = {}) {
    this.port ??= await freePort();
    // prettier-ignore
    const flags = ['--host-node=off', '--nodes', String(nodes), '--listen',
      `127.0.0.1:${this.port}`, '--kubeconfig', this.kubeconfig, '--data-dir',
      join(this.folder, 'data'), '--console', '127.0.0.1:0'];
    if (shape) flags.push('--node-shape', shape);
    this.up = this.run(['up', ...flags]);
    this.url = await untilLine(this.up, 'stderr', URL_LINE, 30);
    await untilLine(this.up, 'stdout', /\n/, 60);
  }

  // The address of a `koordctl console` with these credentials.
  async console(kubeconfig = this.kubeconfig, flags = []) {
    const child = this.run(['console', '--kubeconfig', kubeconfig, ...flags]);
    return untilLine(child, 'stdout', URL_LINE, 20);
  }

  // The address of a koord-manager's console, beside the koord-manager of the `koordctl up`.
  async sharedConsole(flags = []) {
    const kubeconfig = this.kubeconfigOf('koord-manager', 'koordinator-system');
    // prettier-ignore
    const child = this.run(['--kubeconfig', kubeconfig, '--console-addr=127.0.0.1:0',
      `--console-scheduler=${this.scheduler()}`, '--metrics-addr=0', '--enable-pprof=false',
      '--health-probe-addr=127.0.0.1:0', '--feature-gates=WebhookFramework=false', ...flags],
      'koord-manager');
    return untilLine(child, 'stderr', /console is at (https:\/\/[^\s"]+)/, 20);
  }

  run(args, program = 'koordctl') {
    const child = spawn(join(this.programs, program), args, {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child.stdout.resume();
    child.stderr.resume();
    this.children.push(child);
    return child;
  }

  kubectl(args, input = '') {
    return execFileSync('kubectl', ['--kubeconfig', this.kubeconfig, ...args], {
      input,
      encoding: 'utf8',
      stdio: ['pipe', 'pipe', 'pipe'],
    });
  }

  // The kubeconfig of a service account whose context has this namespace.
  kubeconfigOf(account, namespace) {
    const token = this.kubectl(['-n', namespace, 'create', 'token', account]).trim();
    const file = join(this.folder, account);
    const admin = JSON.parse(this.kubectl(['config', 'view', '--raw', '-o', 'json']));
    admin.users[0].user = {token};
    admin.contexts[0].context.namespace = namespace;
    writeFileSync(file, JSON.stringify(admin));
    return file;
  }

  // The address of koord-scheduler's secure port.
  scheduler() {
    const urls = JSON.parse(readFileSync(join(this.folder, 'data', 'components.json'), 'utf8'));
    return urls['koord-scheduler-secure'];
  }

  // A program of the `koordctl up`, which starts it again.
  killComponent(name) {
    const {pid} = this.up;
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
    const child = children.find(
      (one) => readFileSync(`/proc/${one}/comm`, 'utf8').trim() === name.slice(0, 15),
    );
    process.kill(Number(child), 'SIGKILL');
  }

  // Without a chance to say goodbye.
  async kill() {
    this.up.kill('SIGKILL');
    await ended(this.up);
  }

  async stop() {
    for (const child of this.children) child.kill('SIGTERM');
    await Promise.all(this.children.map(ended));
    rmSync(this.folder, {recursive: true, force: true});
  }
}

export function missing(programs) {
  if (!existsSync(join(programs, 'koordctl'))) return `${programs} has no koordctl`;
  try {
    execFileSync('kubectl', ['version', '--client']);
  } catch {
    return 'kubectl is not installed';
  }
  return '';
}
