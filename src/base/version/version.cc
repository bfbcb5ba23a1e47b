#include "base/version/version.h"

namespace koord {

std::string_view programVersion() {
  return KOORD_VERSION;
}

}  // namespace koord
