// What programs do with @kubernetes/client-node, against the API server of KUBECONFIG. Each step is one
// sentence; the first that fails ends the tour with status 1.

import assert from 'node:assert/strict';
import * as k8s from '@kubernetes/client-node';

const config = new k8s.KubeConfig();
config.loadFromDefault();
const core = config.makeApiClient(k8s.CoreV1Api);
const apps = config.makeApiClient(k8s.AppsV1Api);
const objects = k8s.KubernetesObjectApi.makeApiClient(config);
const namespace = 'tour';

const configMap = (name, data, labels = {}) => ({
  apiVersion: 'v1', kind: 'ConfigMap', metadata: {name, namespace, labels}, data,
});
const deployment = (replicas) => ({
  apiVersion: 'apps/v1', kind: 'Deployment', metadata: {name: 'web', namespace},
  spec: {
    replicas,
    selector: {matchLabels: {app: 'web'}},
    template: {
      metadata: {labels: {app: 'web'}},
      spec: {containers: [{name: 'main', image: 'web:1'}, {name: 'side', image: 'side:1'}]},
    },
  },
});

// Calls check() until it holds; says what was waited for when it never does.
async function until(what, check) {
  for (const deadline = Date.now() + 10_000; Date.now() < deadline;) {
    if (await check()) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`never came: ${what}`);
}

const failsWith = (code, message) => (error) => {
  assert.equal(error.code, code);
  assert.match(typeof error.body === 'string' ? error.body : JSON.stringify(error.body), message);
  return true;
};

const patchAs = (strategy) => k8s.setHeaderOptions('Content-Type', strategy);
const patchDeployment = (body, strategy, more = {}) =>
  apps.patchNamespacedDeployment({name: 'web', namespace, body, ...more}, patchAs(strategy));

const steps = {
  async 'the version says what is served'() {
    const version = await config.makeApiClient(k8s.VersionApi).getCode();
    assert.equal(version.major, '1');
  },

  async 'a namespace is created'() {
    const made = await core.createNamespace({body: {metadata: {name: namespace}}});
    assert.equal(made.status.phase, 'Active');
  },

  async 'an object is created, read and listed by its labels'() {
    const made = await core.createNamespacedConfigMap(
      {namespace, body: configMap('one', {colour: 'blue'}, {team: 'a'})});
    assert.ok(made.metadata.uid);
    const read = await core.readNamespacedConfigMap({namespace, name: 'one'});
    assert.deepEqual(read.data, {colour: 'blue'});
    const list = await core.listNamespacedConfigMap({namespace, labelSelector: 'team in (a, b)'});
    assert.deepEqual(list.items.map((item) => item.metadata.name), ['one']);
    const none = await core.listNamespacedConfigMap({namespace, labelSelector: '!team'});
    // Every namespace has the server's own.
    assert.deepEqual(none.items.map((item) => item.metadata.name), ['kube-root-ca.crt']);
  },

  async 'what is not there and what is there already are told apart'() {
    await assert.rejects(core.readNamespacedConfigMap({namespace, name: 'none'}),
      failsWith(404, /configmaps .*none.* not found/));
    await assert.rejects(core.createNamespacedConfigMap({namespace, body: configMap('one')}),
      failsWith(409, /already exists/));
  },

  async 'an old version is not written over a new one'() {
    const read = await core.readNamespacedConfigMap({namespace, name: 'one'});
    await core.replaceNamespacedConfigMap(
      {namespace, name: 'one', body: {...read, data: {colour: 'red'}}});
    await assert.rejects(core.replaceNamespacedConfigMap(
      {namespace, name: 'one', body: {...read, data: {colour: 'green'}}}),
      failsWith(409, /the object has been modified/));
  },

  async 'a list comes in pages'() {
    for (const name of ['two', 'three']) {
      await core.createNamespacedConfigMap({namespace, body: configMap(name)});
    }
    const names = [];
    let page = {metadata: {}};
    do {
      page = await core.listNamespacedConfigMap(
        {namespace, limit: 1, _continue: page.metadata._continue});
      assert.ok(page.items.length <= 1);
      names.push(...page.items.map((item) => item.metadata.name));
    } while (page.metadata._continue);
    assert.deepEqual(names, ['kube-root-ca.crt', 'one', 'three', 'two']);
  },

  async 'a strategic patch merges lists by their keys'() {
    await apps.createNamespacedDeployment({namespace, body: deployment(0)});
    const patched = await patchDeployment(
      {spec: {template: {spec: {containers: [{name: 'side', image: 'side:2'}]}}}},
      k8s.PatchStrategy.StrategicMergePatch);
    assert.deepEqual(patched.spec.template.spec.containers.map((c) => c.image).sort(),
      ['side:2', 'web:1']);
  },

  async 'a merge patch replaces lists and removes what is null'() {
    const patched = await patchDeployment(
      {metadata: {labels: {team: 'a'}},
        spec: {template: {spec: {containers: [{name: 'main', image: 'web:3'}]}}}},
      k8s.PatchStrategy.MergePatch);
    assert.equal(patched.spec.template.spec.containers.length, 1);
    const without = await patchDeployment(
      {metadata: {labels: {team: null}}}, k8s.PatchStrategy.MergePatch);
    assert.equal(without.metadata.labels?.team, undefined);
  },

  async 'a JSON patch changes what it tests'() {
    const patched = await patchDeployment(
      [{op: 'test', path: '/spec/replicas', value: 0}, {op: 'replace', path: '/spec/replicas', value: 4}],
      k8s.PatchStrategy.JsonPatch);
    assert.equal(patched.spec.replicas, 4);
    await assert.rejects(patchDeployment(
      [{op: 'test', path: '/spec/replicas', value: 0}], k8s.PatchStrategy.JsonPatch),
      failsWith(422, /./));
  },

  async 'the size is written through the scale subresource'() {
    await apps.patchNamespacedDeploymentScale(
      {name: 'web', namespace, body: {spec: {replicas: 2}}}, patchAs(k8s.PatchStrategy.MergePatch));
    const read = await apps.readNamespacedDeployment({name: 'web', namespace});
    assert.equal(read.spec.replicas, 2);
  },

  async 'applied fields have owners, and two owners do not agree in silence'() {
    const apply = (fieldManager, colour, force = undefined) => objects.patch(
      configMap('applied', {colour}), undefined, undefined, fieldManager, force,
      k8s.PatchStrategy.ServerSideApply);
    const made = await apply('first', 'blue');
    assert.deepEqual(made.metadata.managedFields.map((entry) => [entry.manager, entry.operation]),
      [['first', 'Apply']]);
    await assert.rejects(apply('second', 'red'),
      failsWith(409, /conflict with .*first.*data\.colour/));
    const forced = await apply('second', 'red', true);
    assert.equal(forced.data.colour, 'red');
  },

  async 'an informer keeps up, also after its watch was cut off'() {
    const informer = k8s.makeInformer(config, `/api/v1/namespaces/${namespace}/configmaps`,
      () => core.listNamespacedConfigMap({namespace}));
    const seen = [];
    for (const event of ['add', 'update', 'delete']) {
      informer.on(event, (object) => seen.push(`${event} ${object.metadata.name}`));
    }
    informer.on('error', () => setTimeout(() => informer.start(), 50));
    await informer.start();
    assert.equal(informer.get('one', namespace).data.colour, 'red');
    await core.createNamespacedConfigMap({namespace, body: configMap('watched', {turn: '1'})});
    await until('the object that was created', () => seen.includes('add watched'));
    await informer.stop();
    await core.patchNamespacedConfigMap(
      {namespace, name: 'watched', body: {data: {turn: '2'}}}, patchAs(k8s.PatchStrategy.MergePatch));
    await informer.start();
    await until('the change meanwhile', () => informer.get('watched', namespace)?.data.turn === '2');
    await core.deleteNamespacedConfigMap({namespace, name: 'watched'});
    await until('the deletion', () => seen.includes('delete watched'));
    await informer.stop();
  },

  async 'a watch goes on from a version and shows what came after it'() {
    const start = await core.listNamespacedConfigMap({namespace});
    await core.createNamespacedConfigMap({namespace, body: configMap('late')});
    const events = [];
    let ended = false;
    const request = await new k8s.Watch(config).watch(
      `/api/v1/namespaces/${namespace}/configmaps`,
      {resourceVersion: start.metadata.resourceVersion, allowWatchBookmarks: true, timeoutSeconds: 30},
      (type, object) => events.push(`${type} ${object.metadata.name}`),
      () => { ended = true; });
    await until('the event', () => events.includes('ADDED late'));
    request.abort();
    await until('the end of the watch', () => ended);
  },

  async 'custom resources are served once they are defined'() {
    const extensions = config.makeApiClient(k8s.ApiextensionsV1Api);
    await extensions.createCustomResourceDefinition({body: {
      metadata: {name: 'gizmos.tour.example'},
      spec: {
        group: 'tour.example', scope: 'Namespaced', names: {plural: 'gizmos', kind: 'Gizmo'},
        versions: [{name: 'v1', served: true, storage: true, schema: {openAPIV3Schema: {
          type: 'object', properties: {spec: {type: 'object', properties: {
            size: {type: 'integer', minimum: 1}, colour: {type: 'string', _default: 'blue'},
          }}},
        }}}],
      },
    }});
    const custom = config.makeApiClient(k8s.CustomObjectsApi);
    const where = {group: 'tour.example', version: 'v1', namespace, plural: 'gizmos'};
    const gizmo = (name, size) => ({
      apiVersion: 'tour.example/v1', kind: 'Gizmo', metadata: {name}, spec: {size},
    });
    const made = await custom.createNamespacedCustomObject({...where, body: gizmo('good', 3)});
    assert.deepEqual(made.spec, {size: 3, colour: 'blue'});
    await assert.rejects(custom.createNamespacedCustomObject({...where, body: gizmo('bad', 0)}),
      failsWith(422, /spec\.size/));
  },

  async 'a deletion takes along what is owned, or leaves it'() {
    const owner = await core.readNamespacedConfigMap({namespace, name: 'one'});
    assert.ok(owner.metadata.uid);
    const status = await core.deleteNamespacedConfigMap(
      {namespace, name: 'one', propagationPolicy: 'Background',
        body: {preconditions: {uid: owner.metadata.uid}}});
    assert.equal(status.status ?? 'Success', 'Success');
    await assert.rejects(core.readNamespacedConfigMap({namespace, name: 'one'}),
      failsWith(404, /not found/));
    await core.deleteCollectionNamespacedConfigMap({namespace});
    const left = await core.listNamespacedConfigMap({namespace});
    // The server makes its own again.
    assert.deepEqual(left.items.map((item) => item.metadata.name), ['kube-root-ca.crt']);
  },
};

for (const [name, step] of Object.entries(steps)) {
  try {
    await step();
    console.log(`ok   ${name}`);
  } catch (error) {
    console.log(`FAIL ${name}\n${error.stack}`);
    process.exit(1);
  }
}
process.exit(0);
