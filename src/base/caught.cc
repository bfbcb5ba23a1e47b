#include "base/caught.h"

#include <exception>

namespace koord {

std::string thrownText() {
  try {
    throw;
  } catch (const std::exception& thrown) {
    return thrown.what();
  } catch (...) {
    return "an exception of a type other than std::exception";
  }
}

}  // namespace koord
