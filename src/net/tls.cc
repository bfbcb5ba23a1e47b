#include "net/tls.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/pem.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>

#include "net/openssl.h"

namespace koord::net {
namespace {

std::unexpected<Error> opensslFail(std::string_view what) {
  return fail(ErrorCode::Internal, fmt::format("{}: {}", what, opensslReason()));
}

template <class Write>
std::string pemOf(const Write& write) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  if (!bio || write(bio.get()) != 1) return {};
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

Result<X509Ptr> readX509(std::string_view pem) {
  const auto bio = readerOf(pem);
  X509Ptr cert(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
  if (!cert) {
    return fail(ErrorCode::Invalid, fmt::format("not a PEM certificate: {}", opensslReason()));
  }
  return cert;
}

Result<PkeyPtr> readKey(std::string_view pem) {
  const auto bio = readerOf(pem);
  // The empty pass phrase keeps OpenSSL from asking for one on the terminal.
  PkeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, const_cast<char*>("")));
  if (!key) {
    return fail(ErrorCode::Invalid, fmt::format("not a PEM private key: {}", opensslReason()));
  }
  return key;
}

void addName(X509_NAME* name, const char* field, const std::string& text) {
  X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(text.data()),
                             static_cast<int>(text.size()), -1, 0);
}

bool addExtension(X509* cert, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, cert, nullptr, nullptr, 0);
  const X509ExtensionPtr extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  return extension && X509_add_ext(cert, extension.get(), -1) == 1;
}

bool setTimes(X509* cert, Validity validity) {
  const auto seconds = [](WallTime t) {
    return static_cast<std::time_t>(
        std::chrono::floor<std::chrono::seconds>(t).time_since_epoch().count());
  };
  return ASN1_TIME_set(X509_getm_notBefore(cert), seconds(validity.from)) != nullptr &&
         ASN1_TIME_set(X509_getm_notAfter(cert), seconds(validity.to)) != nullptr;
}

struct Subject {
  std::string commonName;
  std::vector<std::string> organizations;
  std::vector<std::pair<int, std::string>> extensions;  // NID and value
  Validity validity;
};

// A new key and its certificate, signed by `issuer` or, without one, by itself.
Result<CertKey> issue(const Subject& subject, X509* issuer, EVP_PKEY* issuerKey) {
  const PkeyPtr key(EVP_EC_gen("P-256"));
  const X509Ptr cert(X509_new());
  if (!key || !cert) return opensslFail("create a key");

  std::array<unsigned char, 16> serial{};
  if (RAND_bytes(serial.data(), static_cast<int>(serial.size())) != 1) {
    return opensslFail("create a serial number");
  }
  serial[0] = static_cast<unsigned char>((serial[0] & 0x7f) | 0x40);  // positive, full length
  std::unique_ptr<BIGNUM, OpensslFree<BN_free>> number(
      BN_bin2bn(serial.data(), static_cast<int>(serial.size()), nullptr));
  BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(cert.get()));

  X509_set_version(cert.get(), X509_VERSION_3);
  X509_NAME* name = X509_get_subject_name(cert.get());
  for (const auto& organization : subject.organizations) addName(name, "O", organization);
  addName(name, "CN", subject.commonName);
  X509* const by = issuer ? issuer : cert.get();
  X509_set_issuer_name(cert.get(), X509_get_subject_name(by));
  X509_set_pubkey(cert.get(), key.get());
  if (!setTimes(cert.get(), subject.validity)) return opensslFail("set the validity");
  for (const auto& [nid, value] : subject.extensions) {
    if (!addExtension(cert.get(), by, nid, value)) {
      return opensslFail(fmt::format("set {} to \"{}\"", OBJ_nid2sn(nid), value));
    }
  }
  if (X509_sign(cert.get(), issuerKey ? issuerKey : key.get(), EVP_sha256()) == 0) {
    return opensslFail("sign");
  }
  return CertKey{
      pemOf([&](BIO* out) { return PEM_write_bio_X509(out, cert.get()); }), pemOf([&](BIO* out) {
        return PEM_write_bio_PKCS8PrivateKey(out, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
      })};
}

Result<CertKey> issueBy(const CertKey& authority, const Subject& subject) {
  const auto cert = readX509(authority.certPem);
  if (!cert) return fail(Error(cert.error()).within("certificate authority"));
  const auto key = readKey(authority.keyPem);
  if (!key) return fail(Error(key.error()).within("certificate authority"));
  auto issued = issue(subject, cert->get(), key->get());
  if (!issued) {
    return fail(std::move(issued.error())
                    .within(fmt::format("issue a certificate for \"{}\"", subject.commonName)));
  }
  return issued;
}

bool isIpAddress(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> address{};
  return inet_pton(AF_INET, host.c_str(), address.data()) == 1 ||
         inet_pton(AF_INET6, host.c_str(), address.data()) == 1;
}

WallTime timeOf(const ASN1_TIME* time) {
  std::tm parts{};
  ASN1_TIME_to_tm(time, &parts);
  // "Never" is written as the year 9999, which nanoseconds cannot count to.
  constexpr auto kLast = std::chrono::floor<std::chrono::seconds>(WallTime::max());
  return WallTime(std::min(std::chrono::sys_seconds(std::chrono::seconds(timegm(&parts))), kLast));
}

std::string textOf(const ASN1_STRING* string) {
  unsigned char* utf8 = nullptr;
  const int size = ASN1_STRING_to_UTF8(&utf8, string);
  if (size < 0) return {};
  std::string text(reinterpret_cast<char*>(utf8), static_cast<std::size_t>(size));
  CRYPTO_free(utf8, "", 0);  // OPENSSL_free would put the path of this file into the program
  return text;
}

std::vector<std::string> namesOf(const X509_NAME* name, int nid) {
  std::vector<std::string> found;
  for (int i = -1; (i = X509_NAME_get_index_by_NID(name, nid, i)) >= 0;) {
    found.push_back(textOf(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, i))));
  }
  return found;
}

std::vector<std::string> hostsOf(const X509* cert) {
  std::vector<std::string> dns;
  std::vector<std::string> ips;
  const GeneralNamesPtr names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(cert, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type == GEN_DNS) dns.push_back(textOf(name->d.dNSName));
    if (name->type == GEN_IPADD) {
      std::array<char, INET6_ADDRSTRLEN> text{};
      const int family = ASN1_STRING_length(name->d.iPAddress) == 4 ? AF_INET : AF_INET6;
      inet_ntop(family, ASN1_STRING_get0_data(name->d.iPAddress), text.data(), text.size());
      ips.emplace_back(text.data());
    }
  }
  dns.insert(dns.end(), ips.begin(), ips.end());
  return dns;
}

}  // namespace

Result<CertKey> makeAuthority(const std::string& commonName, Validity validity) {
  return issue({commonName,
                {},
                {{NID_basic_constraints, "critical,CA:TRUE"},
                 {NID_key_usage, "critical,digitalSignature,keyCertSign,cRLSign"},
                 {NID_subject_key_identifier, "hash"}},
                validity},
               nullptr, nullptr);
}

Result<CertKey> issueServerCert(const CertKey& authority, const ServerCertSpec& spec) {
  std::string hosts;
  for (const auto& host : spec.hosts) {
    // A comma would begin another entry.
    if (host.empty() || host.find(',') != host.npos) {
      return fail(ErrorCode::Invalid, fmt::format("\"{}\" is not a host name or address", host));
    }
    hosts +=
        fmt::format("{}{}:{}", hosts.empty() ? "" : ",", isIpAddress(host) ? "IP" : "DNS", host);
  }
  Subject subject{spec.commonName,
                  {},
                  {{NID_basic_constraints, "critical,CA:FALSE"},
                   {NID_key_usage, "critical,digitalSignature"},
                   {NID_ext_key_usage, "serverAuth"},
                   {NID_authority_key_identifier, "keyid"}},
                  spec.validity};
  if (!hosts.empty()) subject.extensions.emplace_back(NID_subject_alt_name, hosts);
  return issueBy(authority, subject);
}

Result<CertKey> issueClientCert(const CertKey& authority, const ClientCertSpec& spec) {
  return issueBy(authority, {spec.commonName,
                             spec.organizations,
                             {{NID_basic_constraints, "critical,CA:FALSE"},
                              {NID_key_usage, "critical,digitalSignature"},
                              {NID_ext_key_usage, "clientAuth"},
                              {NID_authority_key_identifier, "keyid"}},
                             spec.validity});
}

CertInfo certInfoOf(X509* cert) {
  const X509_NAME* subject = X509_get_subject_name(cert);
  const auto commonNames = namesOf(subject, NID_commonName);
  return CertInfo{
      .commonName = commonNames.empty() ? std::string() : commonNames.back(),
      .organizations = namesOf(subject, NID_organizationName),
      .hosts = hostsOf(cert),
      .validity = {timeOf(X509_get0_notBefore(cert)), timeOf(X509_get0_notAfter(cert))},
      .authority = X509_check_ca(cert) == 1,
  };
}

Result<CertInfo> readCertificate(std::string_view pem) {
  const auto cert = readX509(pem);
  if (!cert) return fail(cert.error());
  return certInfoOf(cert->get());
}

std::string fingerprintOf(const X509* cert) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  if (X509_digest(cert, EVP_sha256(), digest, &size) != 1) return {};
  return fmt::format("{:02x}", fmt::join(digest, digest + size, ""));
}

Result<std::vector<std::string>> fingerprintsOf(std::string_view pem) {
  const auto bio = readerOf(pem);
  std::vector<std::string> fingerprints;
  while (const X509Ptr cert{PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)})
    fingerprints.push_back(fingerprintOf(cert.get()));
  const bool atEnd = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  const auto reason = opensslReason();
  if (fingerprints.empty() || !atEnd)
    return fail(ErrorCode::Invalid,
                fmt::format("certificate {} cannot be read: {}", fingerprints.size() + 1, reason));
  return fingerprints;
}

Result<> checkCertKey(const CertKey& pair) {
  const auto cert = readX509(pair.certPem);
  if (!cert) return fail(cert.error());
  const auto key = readKey(pair.keyPem);
  if (!key) return fail(key.error());
  if (X509_check_private_key(cert->get(), key->get()) != 1) {
    ERR_clear_error();
    return fail(ErrorCode::Invalid, "the private key does not match the certificate");
  }
  return {};
}

Result<> checkTrust(std::string_view certPem, std::string_view authorityPem,
                    const std::string& host, WallTime at) {
  const auto cert = readX509(certPem);
  if (!cert) return fail(cert.error());
  if (const auto first = readX509(authorityPem); !first) return fail(first.error());
  const std::unique_ptr<X509_STORE, OpensslFree<X509_STORE_free>> store(X509_STORE_new());
  const std::unique_ptr<X509_STORE_CTX, OpensslFree<X509_STORE_CTX_free>> context(
      X509_STORE_CTX_new());
  const auto authorities = readerOf(authorityPem);
  while (const X509Ptr authority{PEM_read_bio_X509(authorities.get(), nullptr, nullptr, nullptr)})
    if (store) X509_STORE_add_cert(store.get(), authority.get());
  ERR_clear_error();  // the end of the text is an error, too
  if (!store || !context ||
      X509_STORE_CTX_init(context.get(), store.get(), cert->get(), nullptr) != 1) {
    return opensslFail("verify a certificate");
  }
  X509_VERIFY_PARAM* param = X509_STORE_CTX_get0_param(context.get());
  X509_VERIFY_PARAM_set_time(param, std::chrono::system_clock::to_time_t(
                                        std::chrono::time_point_cast<std::chrono::seconds>(at)));
  X509_VERIFY_PARAM_set_purpose(param, X509_PURPOSE_SSL_SERVER);
  if (X509_VERIFY_PARAM_set1_ip_asc(param, host.c_str()) != 1)
    X509_VERIFY_PARAM_set1_host(param, host.data(), host.size());
  if (X509_verify_cert(context.get()) == 1) return {};
  const int reason = X509_STORE_CTX_get_error(context.get());
  ERR_clear_error();
  return fail(ErrorCode::Invalid, fmt::format("the certificate is not valid for {}: {}", host,
                                              X509_verify_cert_error_string(reason)));
}

std::string randomToken(std::size_t bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string token;
  token.reserve(bytes * 2);
  std::vector<unsigned char> raw(bytes);
  // Ends the process: a guessable secret would be worse.
  if (RAND_bytes(raw.data(), static_cast<int>(raw.size())) != 1) std::abort();
  for (const unsigned char byte : raw) token += {kDigits[byte >> 4], kDigits[byte & 15]};
  return token;
}

bool equalConstantTime(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace koord::net
