#pragma once

// The meaning of an operation's fields, apart from carrying it out: timeouts, expectations,
// bindings, outputs and the selected objects.

#include <string>
#include <vector>

#include "scenario/test_file.h"

namespace koord::scenario {

// The operation's own timeout, or that of its kind. All timeouts are set.
Duration timeoutOf(const Operation& operation, const Timeouts& timeouts);

// "path: message; path: message"
std::string joined(const std::vector<Mismatch>& mismatches);

// The problem of an outcome given the expectations; "" if there is none. `resource` is the sent
// object, `object` the received one; `error` is "" for a success. If no expectation matches the
// resource, the error itself is the problem.
std::string judge(const std::vector<Expectation>& expectations, const json::value& resource,
                  const json::value& object, const std::string& error, const Bindings& bindings);

// The bindings of a test, step or operation, added to the outer bindings.
Result<Bindings> evaluateBindings(const std::vector<Binding>& list, Bindings bindings);
// `outer` with the operation's outputs, which are evaluated with `inner` and the object.
Result<Bindings> addOutputs(const Operation& operation, const json::value& object,
                            const Bindings& inner, Bindings outer);

Result<Selection> renderSelection(const Selection& selection, const Bindings& bindings);
// The selection in an assertion's document: kind, namespace, name or labels.
Result<Selection> selectionOf(const json::value& document, const Bindings& bindings);

}  // namespace koord::scenario
