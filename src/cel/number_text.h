#pragma once

// Doubles as text.

#include <string>

namespace koord::cel {

// The shortest text that reads back as the number: "1.5", "1e+06", "NaN", "+Inf". As Go writes it
// with %g.
std::string doubleText(double number);
// The same without exponent: "1000000000000000000000".
std::string plainDouble(double number);

}  // namespace koord::cel
