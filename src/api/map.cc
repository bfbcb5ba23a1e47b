#include "api/map.h"

#include "base/quantity.h"

namespace koord::api {

template class Map<std::string>;
template class Map<Quantity>;

}  // namespace koord::api
