#include "net/signing.h"

#include <fmt/format.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/pem.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>

#include "net/openssl.h"

namespace koord::net {
namespace {

using BignumPtr = std::unique_ptr<BIGNUM, OpensslFree<BN_free>>;
using EcdsaSigPtr = std::unique_ptr<ECDSA_SIG, OpensslFree<ECDSA_SIG_free>>;
using DigestPtr = std::unique_ptr<EVP_MD_CTX, OpensslFree<EVP_MD_CTX_free>>;

constexpr int kHalf = 32;  // bytes of a coordinate, of r and of s

std::unexpected<Error> failed(std::string_view what) {
  return fail(ErrorCode::Internal, fmt::format("{}: {}", what, opensslReason()));
}

const unsigned char* bytesOf(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

std::string half(const BIGNUM* number) {
  std::string out(kHalf, '\0');
  if (BN_bn2binpad(number, reinterpret_cast<unsigned char*>(out.data()), kHalf) != kHalf)
    out.clear();
  return out;
}

std::string coordinate(const EVP_PKEY* key, const char* name) {
  BIGNUM* number = nullptr;
  if (EVP_PKEY_get_bn_param(key, name, &number) != 1) return {};
  const BignumPtr owned(number);
  return half(number);
}

}  // namespace

Result<SigningKey> SigningKey::of(std::shared_ptr<evp_pkey_st> key) {
  SigningKey out(std::move(key));
  std::array<char, 32> curve{};
  const bool p256 = EVP_PKEY_get_utf8_string_param(out.key_.get(), OSSL_PKEY_PARAM_GROUP_NAME,
                                                   curve.data(), curve.size(), nullptr) == 1 &&
                    std::string_view(curve.data()) == "prime256v1";
  unsigned char* der = nullptr;
  const int size = p256 ? i2d_PUBKEY(out.key_.get(), &der) : -1;
  if (size <= 0) {
    ERR_clear_error();
    return fail(ErrorCode::Invalid, "not an ECDSA key on the curve P-256");
  }
  out.id_ =
      base64UrlEncode(sha256({reinterpret_cast<const char*>(der), static_cast<std::size_t>(size)}));
  CRYPTO_free(der, "", 0);  // OPENSSL_free would put the path of this file into the program
  out.x_ = base64UrlEncode(coordinate(out.key_.get(), OSSL_PKEY_PARAM_EC_PUB_X));
  out.y_ = base64UrlEncode(coordinate(out.key_.get(), OSSL_PKEY_PARAM_EC_PUB_Y));
  return out;
}

Result<SigningKey> SigningKey::generate() {
  std::shared_ptr<EVP_PKEY> key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  if (!key) return failed("create a signing key");
  return of(std::move(key));
}

Result<SigningKey> SigningKey::fromPem(std::string_view pem) {
  const auto bio = readerOf(pem);
  // The empty pass phrase keeps OpenSSL from asking for one on the terminal.
  std::shared_ptr<EVP_PKEY> key(
      PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, const_cast<char*>("")), EVP_PKEY_free);
  if (!key)
    return fail(ErrorCode::Invalid, fmt::format("not a PEM private key: {}", opensslReason()));
  return of(std::move(key));
}

Result<std::string> SigningKey::pem() const {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  if (!bio || PEM_write_bio_PKCS8PrivateKey(bio.get(), key_.get(), nullptr, nullptr, 0, nullptr,
                                            nullptr) != 1)
    return failed("write a signing key");
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return std::string(data, static_cast<std::size_t>(size));
}

Result<std::string> SigningKey::sign(std::string_view data) const {
  const DigestPtr digest(EVP_MD_CTX_new());
  std::array<unsigned char, 128> der{};
  std::size_t size = der.size();
  if (!digest ||
      EVP_DigestSignInit(digest.get(), nullptr, EVP_sha256(), nullptr, key_.get()) != 1 ||
      EVP_DigestSign(digest.get(), der.data(), &size, bytesOf(data), data.size()) != 1)
    return failed("sign");
  const unsigned char* at = der.data();
  const EcdsaSigPtr parts(d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(size)));
  if (!parts) return failed("sign");
  return half(ECDSA_SIG_get0_r(parts.get())) + half(ECDSA_SIG_get0_s(parts.get()));
}

bool SigningKey::verify(std::string_view data, std::string_view signature) const {
  if (signature.size() != 2 * kHalf) return false;
  const EcdsaSigPtr parts(ECDSA_SIG_new());
  BignumPtr r(BN_bin2bn(bytesOf(signature), kHalf, nullptr));
  BignumPtr s(BN_bin2bn(bytesOf(signature) + kHalf, kHalf, nullptr));
  if (!parts || !r || !s || ECDSA_SIG_set0(parts.get(), r.get(), s.get()) != 1) return false;
  // The signature owns them.
  (void)r.release();
  (void)s.release();
  unsigned char* der = nullptr;
  const int size = i2d_ECDSA_SIG(parts.get(), &der);
  if (size <= 0) return false;
  const DigestPtr digest(EVP_MD_CTX_new());
  const bool good =
      digest &&
      EVP_DigestVerifyInit(digest.get(), nullptr, EVP_sha256(), nullptr, key_.get()) == 1 &&
      EVP_DigestVerify(digest.get(), der, static_cast<std::size_t>(size), bytesOf(data),
                       data.size()) == 1;
  CRYPTO_free(der, "", 0);
  ERR_clear_error();
  return good;
}

std::string base64UrlEncode(std::string_view bytes) {
  std::string text = base64Encode(bytes);
  while (text.ends_with('=')) text.pop_back();
  std::ranges::replace(text, '+', '-');
  std::ranges::replace(text, '/', '_');
  return text;
}

Result<std::string> base64UrlDecode(std::string_view text) {
  // Other characters would be read as those of standard base64, or as blanks.
  if (text.find_first_of("+/= \t\r\n") != std::string_view::npos)
    return fail(ErrorCode::BadRequest, "not valid base64url");
  std::string plain(text);
  std::ranges::replace(plain, '-', '+');
  std::ranges::replace(plain, '_', '/');
  while (plain.size() % 4 != 0) plain += '=';
  return base64Decode(plain);
}

std::string sha256(std::string_view bytes) {
  std::string out(SHA256_DIGEST_LENGTH, '\0');
  SHA256(bytesOf(bytes), bytes.size(), reinterpret_cast<unsigned char*>(out.data()));
  return out;
}

}  // namespace koord::net
