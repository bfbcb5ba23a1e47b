#include "cel/library/all.h"

#include "cel/library/standard.h"

namespace koord::cel {

std::vector<const Library*> conformanceLibraries() {
  return {&standardLibrary()};
}

}  // namespace koord::cel
