#pragma once

// Keys that sign tokens (ECDSA on P-256, "ES256" of JSON Web Tokens) and the base64url of such
// tokens. Copies share one key. Any thread.

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

struct evp_pkey_st;  // OpenSSL's EVP_PKEY

namespace koord::net {

class SigningKey {
 public:
  static Result<SigningKey> generate();
  // A private key as PEM text; Invalid for keys of other kinds.
  static Result<SigningKey> fromPem(std::string_view pem);
  Result<std::string> pem() const;  // PKCS#8, not encrypted

  // r and s of the signature, 32 bytes each.
  Result<std::string> sign(std::string_view data) const;
  bool verify(std::string_view data, std::string_view signature) const;

  // The id of the public key: base64url of the SHA-256 of its DER.
  const std::string& id() const { return id_; }
  // The coordinates of the public point, base64url.
  const std::string& x() const { return x_; }
  const std::string& y() const { return y_; }

 private:
  explicit SigningKey(std::shared_ptr<evp_pkey_st> key) : key_(std::move(key)) {}
  static Result<SigningKey> of(std::shared_ptr<evp_pkey_st> key);

  std::shared_ptr<evp_pkey_st> key_;
  std::string id_, x_, y_;
};

// RFC 4648 section 5, without padding.
std::string base64UrlEncode(std::string_view bytes);
Result<std::string> base64UrlDecode(std::string_view text);

// The 32 bytes of SHA-256.
std::string sha256(std::string_view bytes);

}  // namespace koord::net
