#pragma once

// The PluginKind of a plugin class with a struct of arguments.

#include <memory>
#include <type_traits>
#include <utility>

#include "descheduler/framework/registry.h"

namespace koord::descheduler {

// P has the arguments P::Args, which have `static Args read(Fields&)` and `json::object effective`,
// and a constructor P(Handle&, Args).
template <class P>
PluginKind kindOf() {
  PluginKind kind;
  kind.deschedule = std::is_base_of_v<DeschedulePlugin, P>;
  kind.balance = std::is_base_of_v<BalancePlugin, P>;
  kind.prepare = [](Fields& fields) {
    typename P::Args args = P::Args::read(fields);
    json::object effective = args.effective;
    return PreparedPlugin{std::move(effective), [args](Handle& handle) -> std::shared_ptr<Plugin> {
                            return std::make_shared<P>(handle, args);
                          }};
  };
  return kind;
}

// The same for a plugin of upstream's Koordinator (PluginKind::native).
template <class P>
PluginKind nativeKindOf() {
  PluginKind kind = kindOf<P>();
  kind.native = true;
  return kind;
}

}  // namespace koord::descheduler
