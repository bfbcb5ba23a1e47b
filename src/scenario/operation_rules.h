#pragma once

// What an operation's fields mean, apart from carrying it out: timeouts, expectations, bindings,
// outputs and which objects it is about.

#include <string>
#include <vector>

#include "scenario/test_file.h"

namespace koord::scenario {

// Its own, or the one for its kind. The timeouts are all set.
Duration timeoutOf(const Operation& operation, const Timeouts& timeouts);

// "path: message; path: message"
std::string joined(const std::vector<Mismatch>& mismatches);

// What is wrong with an outcome in the light of the expectations; "" for nothing. `resource` is
// what was sent, `object` what came back; `error` is "" for a success. Without an expectation that
// concerns the resource, the error itself is what is wrong.
std::string judge(const std::vector<Expectation>& expectations, const json::value& resource,
                  const json::value& object, const std::string& error, const Bindings& bindings);

// The bindings of a test, step or operation on top of those around it.
Result<Bindings> evaluateBindings(const std::vector<Binding>& list, Bindings bindings);
// `outer` with the operation's outputs, which see `inner` and the object.
Result<Bindings> addOutputs(const Operation& operation, const json::value& object,
                            const Bindings& inner, Bindings outer);

Result<Selection> renderSelection(const Selection& selection, const Bindings& bindings);
// What an assertion's document says about where to look: kind, namespace, name or labels.
Result<Selection> selectionOf(const json::value& document, const Bindings& bindings);

}  // namespace koord::scenario
