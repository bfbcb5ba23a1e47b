#include "kube/kubeconfig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/virtual_loop.h"
#include "net/test_net.h"

namespace koord::kube {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

Task<void> ask(CredentialSource& source, Executor& executor, Credentials* into) {
  auto asking = source.credentials(executor);
  auto given = co_await asking;
  *into = given.value();
}

// Fixed and file credentials answer without waiting.
Credentials now(CredentialSource& source, Executor& executor) {
  TaskGroup group;
  Credentials given;
  group.spawn(ask(source, executor, &given));
  return given;
}

class KubeconfigTest : public testing::Test {
 protected:
  KubeconfigTest() : folder(testing::TempDir() + "koord-kubeconfig-" + net::randomToken(8)) {
    std::filesystem::create_directories(folder);
    for (const char* name : {"KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"}) {
      ::unsetenv(name);
    }
    ::setenv("HOME", folder.c_str(), 1);
  }
  ~KubeconfigTest() override { std::filesystem::remove_all(folder); }

  std::string write(const std::string& name, const std::string& text) {
    const auto path = folder + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << text;
    return path;
  }
  Result<ClientConfig> load(const std::string& text) {
    return loadClientConfig({.kubeconfig = write("config", text)});
  }
  // One cluster and one user with these fields (two blanks of indentation more than here).
  static std::string config(const std::string& cluster, const std::string& user) {
    const auto fields = [](const std::string& text) {
      std::string out;
      std::istringstream lines(text);
      for (std::string line; std::getline(lines, line);) out += "    " + line + "\n";
      return out;
    };
    return "apiVersion: v1\nkind: Config\ncurrent-context: main\n"
           "contexts:\n- name: main\n  context: {cluster: c, user: u, namespace: team}\n"
           "clusters:\n- name: c\n  cluster:\n    server: https://127.0.0.1:6443/\n" +
           fields(cluster) + "users:\n- name: u\n  user:\n    as-groups: []\n" + fields(user);
  }

  const net::TestCertificates& certs = net::TestCertificates::get();
  std::string folder;
  VirtualLoop loop;
};

TEST_F(KubeconfigTest, FilesOfAListAndOfTheHomeFolder) {
  EXPECT_EQ(kubeconfigFiles(":a:/b c::"), (std::vector<std::string>{"a", "/b c"}));
  EXPECT_TRUE(kubeconfigFiles("").empty());
  EXPECT_EQ(homeKubeconfig(), folder + "/.kube/config");
  ::unsetenv("HOME");
  EXPECT_EQ(homeKubeconfig(), ".kube/config");
}

TEST_F(KubeconfigTest, InlineDataBecomesTls) {
  const auto loaded =
      load(config("certificate-authority-data: " + net::base64Encode(certs.authority.certPem) +
                      "\ntls-server-name: kubernetes\nproxy-url: http://proxy:3128\n"
                      "disable-compression: true",
                  "client-certificate-data: " + net::base64Encode(certs.client.certPem) +
                      "\nclient-key-data: " + net::base64Encode(certs.client.keyPem)));
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->server, "https://127.0.0.1:6443");
  EXPECT_EQ(loaded->defaultNamespace, "team");
  EXPECT_EQ(loaded->tls->caPem, certs.authority.certPem);
  EXPECT_EQ(loaded->tls->certPem, certs.client.certPem);
  EXPECT_EQ(loaded->tls->keyPem, certs.client.keyPem);
  EXPECT_EQ(loaded->tls->serverName, "kubernetes");
  EXPECT_EQ(loaded->proxyUrl, "http://proxy:3128");
  EXPECT_FALSE(loaded->gzip);
  EXPECT_EQ(loaded->credentials, nullptr);
}

TEST_F(KubeconfigTest, FilesAreFoundBesideTheKubeconfig) {
  write("pki/ca.crt", certs.authority.certPem);
  write("pki/client.crt", certs.client.certPem);
  write("pki/client.key", certs.client.keyPem);
  const auto loaded = load(
      config("certificate-authority: pki/ca.crt",
             "client-certificate: ./pki/client.crt\nclient-key: " + folder + "/pki/client.key"));
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->tls->caPem, certs.authority.certPem);
  ASSERT_TRUE(loaded->credentials);
  EXPECT_EQ(now(*loaded->credentials, loop).tls->certPem, certs.client.certPem);
}

TEST_F(KubeconfigTest, CertificateFilesAreReadAgain) {
  write("client.crt", certs.client.certPem);
  write("client.key", certs.client.keyPem);
  const auto loaded = load(config("", "client-certificate: client.crt\nclient-key: client.key"));
  ASSERT_TRUE(loaded) << loaded.error().message;
  (void)now(*loaded->credentials, loop);
  const auto renewed = net::TestCertificates::make("other-ca").client;
  write("client.crt", renewed.certPem);
  loop.advance(std::chrono::minutes(1));
  // Half-way through a rotation the certificate does not fit the key: the old pair stays.
  EXPECT_EQ(now(*loaded->credentials, loop).tls->certPem, certs.client.certPem);
  write("client.key", renewed.keyPem);
  loop.advance(std::chrono::minutes(1));
  EXPECT_EQ(now(*loaded->credentials, loop).tls->certPem, renewed.certPem);
}

TEST_F(KubeconfigTest, TokensComeFromTheTextOrFromAFileThatChanges) {
  const auto fixed = load(config("", "token: abc"));
  ASSERT_TRUE(fixed) << fixed.error().message;
  EXPECT_EQ(now(*fixed->credentials, loop).token, "abc");

  write("token", "first\n");
  const auto file = load(config("", "token: ignored\ntokenFile: token"));
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(now(*file->credentials, loop).token, "first");
  write("token", "second\n");
  EXPECT_EQ(now(*file->credentials, loop).token, "second");
  std::filesystem::remove(folder + "/token");
  loop.advance(std::chrono::minutes(1));
  EXPECT_EQ(now(*file->credentials, loop).token, "second");
  write("token", "third");
  loop.advance(std::chrono::minutes(1));
  EXPECT_EQ(now(*file->credentials, loop).token, "third");
}

TEST_F(KubeconfigTest, BasicAuthAndImpersonationAreKept) {
  const auto loaded = load(config("insecure-skip-tls-verify: true",
                                  "username: me\npassword: secret\nas: alice\nas-uid: '7'\n"
                                  "as-user-extra: {scopes: [a, b]}"));
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_TRUE(loaded->tls->insecureSkipVerify);
  EXPECT_EQ(loaded->basicUser, "me");
  EXPECT_EQ(loaded->basicPassword, "secret");
  EXPECT_EQ(loaded->impersonate.user, "alice");
  EXPECT_EQ(loaded->impersonate.uid, "7");
  EXPECT_THAT(loaded->impersonate.extra,
              ElementsAre(std::pair{"scopes", "a"}, std::pair{"scopes", "b"}));
}

TEST_F(KubeconfigTest, SeveralFilesAreMergedAndTheFirstToSayWins) {
  const auto first = write("one/a",
                           "current-context: x\n"
                           "users:\n- {name: u, user: {token: from-a}}\n"
                           "contexts:\n- {name: x, context: {cluster: c, user: u}}\n");
  const auto second = write("two/b",
                            "current-context: two\n"
                            "users:\n- {name: u, user: {token: from-b, username: nobody}}\n"
                            "clusters:\n- {name: c, cluster: {server: 'http://b'}}\n");
  ::setenv("KUBECONFIG", (first + "::" + folder + "/missing:" + second).c_str(), 1);
  const auto loaded = loadClientConfig({});
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->server, "http://b");
  EXPECT_EQ(now(*loaded->credentials, loop).token, "from-a");
  EXPECT_EQ(loaded->basicUser, "");
  EXPECT_EQ(loaded->defaultNamespace, "default");

  ::setenv("KUBECONFIG", (folder + "/missing").c_str(), 1);
  EXPECT_THAT(loadClientConfig({}).error().message, HasSubstr("none of the files in $KUBECONFIG"));
}

TEST_F(KubeconfigTest, ContextAndServerCanBeOverridden) {
  const auto path = write("config", config("", "token: t") + "- {name: v, user: {token: other}}\n" +
                                        "extensions: []\n");
  auto text = config("", "token: t");
  text.replace(text.find("contexts:\n"), 10, "contexts:\n- {name: alt, context: {cluster: c}}\n");
  write("config", text);
  const auto loaded =
      loadClientConfig({.kubeconfig = path, .context = "alt", .server = "other:80"});
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->server, "http://other:80");
  EXPECT_EQ(loaded->credentials, nullptr);
}

TEST_F(KubeconfigTest, WithoutAFileTheHomeFolderIsLookedInAndThenAdviceIsGiven) {
  EXPECT_THAT(loadClientConfig({}).error().message,
              AllOf(HasSubstr("--kubeconfig"), HasSubstr(folder + "/.kube/config")));
  EXPECT_EQ(loadClientConfig({.server = "http://127.0.0.1:8080"}).value().server,
            "http://127.0.0.1:8080");
  write(".kube/config", config("", "token: t"));
  EXPECT_EQ(loadClientConfig({}).value().server, "https://127.0.0.1:6443");
}

TEST_F(KubeconfigTest, ErrorsNameTheFileAndTheField) {
  const auto ca = net::base64Encode(certs.authority.certPem);
  struct Case {
    std::string text;
    const char* expected;
  };
  const Case cases[] = {
      {"a: [", "line "},
      {"just text", "must be a mapping"},
      {"kind: Pod", "kind: must be Config"},
      {"clusters: 5", "clusters: must be a list"},
      {"users:\n- user: {}", "users[0].name: must not be empty"},
      {config("", "token: 12345"), "users[0].user.token: must be a string"},
      {config("", "tokenFile: nowhere"), "nowhere: No such file or directory"},
      {config("insecure-skip-tls-verify: maybe", ""),
       "clusters[0].cluster.insecure-skip-tls-verify: must be true or false"},
      {config("insecure-skip-tls-verify: true\ncertificate-authority-data: " + ca, ""),
       "exclude each other"},
      {config("certificate-authority-data: '*'", ""),
       "clusters[0].cluster.certificate-authority-data: not valid base64"},
      {config("certificate-authority-data: aGVsbG8=", ""), "not a PEM certificate"},
      {config("certificate-authority: nowhere.crt", ""),
       "clusters[0].cluster.certificate-authority: "},
      {config("", "client-certificate-data: " + ca), "must be given together"},
      {config("", "client-certificate-data: " + ca +
                      "\nclient-key-data: " + net::base64Encode(certs.client.keyPem)),
       "does not match the certificate"},
      {config("", "exec: {apiVersion: client.authentication.k8s.io/v1}"),
       "users[0].user.exec.command: must name the program"},
      {config("", "exec: {command: x, apiVersion: v1}"), "users[0].user.exec.apiVersion: must be"},
      {config("", "exec: {command: x, args: [1], apiVersion: client.authentication.k8s.io/v1}"),
       "users[0].user.exec.args[0]: must be a string"},
      {config("", "auth-provider: {name: gcp}"), "users[0].user.auth-provider: is not supported"},
      {"contexts: []", "current-context: is not set"},
      {"current-context: x\ncontexts:\n- {name: main, context: {}}",
       "current-context \"x\" is not defined; there are: main"},
      {"current-context: main\ncontexts:\n- {name: main, context: {cluster: z}}",
       "contexts[0].context: cluster \"z\" is not defined"},
      {"current-context: main\ncontexts:\n- {name: main, context: {cluster: z}}\n"
       "clusters:\n- {name: z, cluster: {}}",
       "clusters[0].cluster.server: must name the API server"},
      {"current-context: main\ncontexts:\n- {name: main, context: {cluster: z}}\n"
       "clusters:\n- {name: z, cluster: {server: 'ftp://x'}}",
       "the scheme must be http or https"},
  };
  for (const auto& [text, expected] : cases) {
    const auto loaded = load(text);
    ASSERT_FALSE(loaded) << text;
    EXPECT_THAT(loaded.error().message,
                AllOf(StartsWith("kubeconfig " + folder + "/config: "), HasSubstr(expected)))
        << text;
  }
}

TEST_F(KubeconfigTest, AFileThatCannotBeReadIsNamedWithTheReason) {
  const auto missing = folder + "/missing";
  EXPECT_EQ(loadClientConfig({.kubeconfig = missing}).error().message,
            "kubeconfig: " + missing + ": No such file or directory");
  EXPECT_EQ(loadClientConfig({.kubeconfig = folder}).error().message,
            "kubeconfig: " + folder + ": Is a directory");
  const auto secret = write("secret", "x");
  ::chmod(secret.c_str(), 0);
  if (::geteuid() != 0) {
    EXPECT_EQ(loadClientConfig({.kubeconfig = secret}).error().message,
              "kubeconfig: " + secret + ": Permission denied");
  }
}

TEST_F(KubeconfigTest, InAPodTheServiceAccountIsUsed) {
  EXPECT_THAT(inClusterConfig(folder).error().message, HasSubstr("this is not a pod"));
  ::setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1);
  ::setenv("KUBERNETES_SERVICE_PORT", "443", 1);
  const std::string base = "var/run/secrets/kubernetes.io/serviceaccount/";
  EXPECT_THAT(inClusterConfig(folder).error().message, HasSubstr(base + "ca.crt"));
  write(base + "ca.crt", certs.authority.certPem);
  EXPECT_THAT(inClusterConfig(folder).error().message, HasSubstr(base + "token"));
  write(base + "token", "sa-token\n");
  write(base + "namespace", "koordinator-system");
  const auto config = inClusterConfig(folder);
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->server, "https://[fd00::1]:443");
  EXPECT_EQ(config->tls->caPem, certs.authority.certPem);
  EXPECT_EQ(config->defaultNamespace, "koordinator-system");
  EXPECT_EQ(now(*config->credentials, loop).token, "sa-token");

  // Kubelet replaces the files when token or authority are renewed.
  const auto renewed = net::TestCertificates::make("next-ca").authority;
  write(base + "ca.crt", renewed.certPem);
  write(base + "token", "sa-token-2\n");
  EXPECT_EQ(now(*config->credentials, loop).token, "sa-token-2");
  EXPECT_EQ(now(*config->credentials, loop).tls->caPem, renewed.certPem);
  write(base + "ca.crt", "half a certifi");
  EXPECT_EQ(now(*config->credentials, loop).tls->caPem, renewed.certPem);
}

}  // namespace
}  // namespace koord::kube
