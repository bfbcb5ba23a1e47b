#include "base/caught.h"

#include <exception>

namespace koord {

std::string thrownText() {
  try {
    throw;
  } catch (const std::exception& thrown) {
    return thrown.what();
  } catch (...) {
    return "something that is not a std::exception";
  }
}

}  // namespace koord
