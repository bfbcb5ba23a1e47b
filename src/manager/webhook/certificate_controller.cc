#include "manager/webhook/certificate_controller.h"

#include <fmt/format.h>

#include "base/log.h"
#include "kube/client.h"
#include "manager/webhook/webhook_entries.h"

namespace koord::manager {

namespace {

using namespace std::chrono_literals;

constexpr const char* kSync = "sync";
constexpr Duration kInterval = 60s;
// Replicas with different paths, as during an update, overwrite each other's entries; this limits
// the rate.
constexpr Duration kDebounce = 1s;
constexpr Duration kUntilTrusted = 5s;
constexpr std::string_view kTemplate = "template";

kube::WatchScope only(std::string name, std::string namespace_ = "") {
  return {std::move(namespace_), "", "metadata.name=" + name};
}

// The entries before they were configured for a server: from the annotation, else the present
// entries, which then become the annotation.
Result<json::array> wantedEntries(const json::value& object) {
  const std::string_view text = textAt(object, "metadata", "annotations", kTemplate);
  if (text.empty()) {
    const auto* current = find(object, "webhooks");
    return current && current->is_array() ? current->get_array() : json::array();
  }
  auto parsed = parseJson(text);
  if (!parsed) return fail(std::move(parsed.error()).within("metadata.annotations[template]"));
  if (!parsed->is_array())
    return fail(ErrorCode::Invalid, "metadata.annotations[template]: is not a list");
  return parsed->get_array();
}

}  // namespace

CertificateController::CertificateController(kube::Api& api, Executor& executor,
                                             WebhookSettings settings,
                                             std::set<std::string> servedPaths, Random random,
                                             std::function<Result<>(const WebhookCerts&)> onCerts)
    : api_(api),
      executor_(executor),
      settings_(std::move(settings)),
      servedPaths_(std::move(servedPaths)),
      onCerts_(std::move(onCerts)),
      queue_(executor, "webhook-certificates",
             [this](std::string key) { return sync(std::move(key)); }),
      secrets_(api, executor, only(settings_.secretName, settings_.podNamespace), random.fork()),
      mutating_(api, executor, only(settings_.mutatingName), random.fork()),
      validating_(api, executor, only(settings_.validatingName), random.fork()) {
  const auto watch = [this](auto& informer) {
    informer.addHandler({[this](const auto&) { queue_.addAfter(kSync, kDebounce); },
                         [this](const auto&, const auto&) { queue_.addAfter(kSync, kDebounce); },
                         [this](const auto&) { queue_.addAfter(kSync, kDebounce); }});
  };
  watch(secrets_);
  watch(mutating_);
  watch(validating_);
}

CertificateController::~CertificateController() {
  executor_.cancel(next_);
}

void CertificateController::start() {
  if (!settings_.certsInFolder) secrets_.start();
  mutating_.start();
  validating_.start();
  queue_.add(kSync);
  queue_.start();
}

void CertificateController::scheduleNext() {
  executor_.cancel(next_);
  next_ = executor_.runAfter(kInterval, [this] {
    next_ = 0;
    queue_.add(kSync);
  });
}

Task<Result<>> CertificateController::sync(std::string) {
  auto task = syncAll();
  auto result = co_await task;
  if (!result) {
    problem_ = result.error().message;
    co_return result;
  }
  if (!initialised_)
    log::info("webhooks are configured and served at {}", settings_.listenAddress());
  problem_.clear();
  initialised_ = true;
  scheduleNext();
  co_return result;
}

Task<Result<>> CertificateController::syncAll() {
  auto looking = currentCerts();
  auto certs = co_await looking;
  if (!certs) co_return fail(std::move(certs.error()));
  const bool serves = !certs_.server.certPem.empty();
  const bool otherAuthority = serves && certs->authority.certPem != certs_.authority.certPem;
  if (!otherAuthority)
    if (auto used = use(*certs); !used) co_return used;
  auto configuring = configureAll(certs->authority.certPem);
  Result<> result = co_await configuring;
  if (!result || !otherAuthority) co_return result;
  auto pause = sleepFor(executor_, kUntilTrusted);
  co_await pause;
  co_return use(*std::move(certs));
}

Task<Result<>> CertificateController::configureAll(std::string authorityPem) {
  auto mutating =
      configure(api::MutatingWebhookConfiguration::kType, settings_.mutatingName, authorityPem);
  Result<> result = co_await mutating;
  if (!result) co_return result;
  auto validating = configure(api::ValidatingWebhookConfiguration::kType, settings_.validatingName,
                              std::move(authorityPem));
  result = co_await validating;
  co_return result;
}

Task<Result<WebhookCerts>> CertificateController::currentCerts() {
  if (settings_.certsInFolder) co_return fromFolderOrNew();
  auto task = fromSecretOrNew();
  auto result = co_await task;
  co_return result;
}

Result<WebhookCerts> CertificateController::validOrRenewed(const WebhookCerts* stored) const {
  const WallTime now = executor_.wallNow();
  const std::string host = settings_.certHost();
  const WebhookCerts* own = certs_.server.certPem.empty() ? nullptr : &certs_;
  const WebhookCerts* known = stored ? stored : own;
  if (known && checkCerts(*known, host, now)) return *known;
  return renewCerts(known, host, now);
}

Result<WebhookCerts> CertificateController::fromFolderOrNew() {
  const auto stored = readFolder(settings_.certDir);
  auto certs = validOrRenewed(stored ? &*stored : nullptr);
  if (!certs || (stored && stored->server.certPem == certs->server.certPem)) return certs;
  if (auto written = writeFolder(settings_.certDir, *certs); !written)
    return fail(std::move(written.error()));
  return certs;
}

Task<Result<WebhookCerts>> CertificateController::fromSecretOrNew() {
  const api::ObjectKey key{settings_.podNamespace, settings_.secretName};
  const std::string where = "Secret " + key.toString();
  auto fetch = kube::get<api::Secret>(api_, key);
  auto secret = co_await fetch;
  if (!secret && secret.error().code != ErrorCode::NotFound)
    co_return fail(std::move(secret.error()).within(where));

  if (!secret) {
    auto fresh = validOrRenewed(nullptr);
    if (!fresh) co_return fail(std::move(fresh.error()));
    json::value object =
        json::object{{"apiVersion", "v1"},
                     {"kind", "Secret"},
                     {"metadata", {{"name", key.name}, {"namespace", key.namespace_}}},
                     {"data", toSecretData(*fresh)}};
    auto create =
        kube::createObject(api_, api::Secret::kType, {key.namespace_, ""}, std::move(object));
    auto created = co_await create;
    if (created) co_return fresh;
    if (created.error().code != ErrorCode::AlreadyExists)
      co_return fail(std::move(created.error()).within("create " + where));
    auto again = kube::get<api::Secret>(api_, key);  // another replica was faster
    secret = co_await again;
    if (!secret) co_return fail(std::move(secret.error()).within(where));
  }

  const auto stored = fromSecret(*secret);
  auto certs = validOrRenewed(stored ? &*stored : nullptr);
  if (!certs || (stored && stored->server.certPem == certs->server.certPem)) co_return certs;
  log::info("renewing the webhook certificates in {}", where);
  json::value patch =
      json::object{{"metadata", {{"resourceVersion", secret->metadata.resourceVersion}}},
                   {"data", toSecretData(*certs)}};
  auto write = kube::mergePatch(api_, api::Secret::kType, key, std::move(patch));
  auto written = co_await write;
  if (!written) co_return fail(std::move(written.error()).within("renew " + where));
  co_return certs;
}

Result<> CertificateController::use(WebhookCerts certs) {
  if (certs.server.certPem == certs_.server.certPem &&
      certs.authority.certPem == certs_.authority.certPem)
    return {};
  if (auto taken = onCerts_(certs); !taken) return taken;
  certs_ = std::move(certs);
  return {};
}

Task<Result<>> CertificateController::configure(const api::ResourceType& type, std::string name,
                                                std::string authorityPem) {
  const std::string where = fmt::format("{} {}", type.kind, name);
  auto fetch = kube::getObject(api_, type, {"", name});
  auto object = co_await fetch;
  if (!object) co_return fail(std::move(object.error()).within(where));
  auto wanted = wantedEntries(*object);
  if (!wanted) co_return fail(std::move(wanted.error()).within(where));
  reportUnserved(where, *wanted);
  const json::array entries = configuredEntries(*wanted, servedPaths_, settings_, authorityPem);

  const auto* current = find(*object, "webhooks");
  const bool same =
      current && current->is_array() ? current->get_array() == entries : entries.empty();
  const bool noted = !textAt(*object, "metadata", "annotations", kTemplate).empty();
  if (same && noted) co_return Result<>();

  json::object metadata{
      {"resourceVersion", json::string(textAt(*object, "metadata", "resourceVersion"))}};
  if (!noted) metadata["annotations"] = {{kTemplate, toJson(*wanted)}};
  json::value patch = json::object{{"metadata", std::move(metadata)}, {"webhooks", entries}};
  auto write = kube::mergePatch(api_, type, {"", name}, std::move(patch));
  auto written = co_await write;
  if (!written) co_return fail(std::move(written.error()).within("configure " + where));
  co_return Result<>();
}

void CertificateController::reportUnserved(const std::string& where, const json::array& wanted) {
  auto unserved = unservedEntries(wanted, servedPaths_);
  auto& logged = unserved_[where];
  if (unserved == logged) return;
  logged = std::move(unserved);
  for (const auto& entry : logged)
    log::warn(
        "{} names the webhook {}, which is skipped: this koord-manager does not serve it, because "
        "this version lacks it or its feature gate is off",
        where, entry);
}

}  // namespace koord::manager
