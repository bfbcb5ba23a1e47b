#pragma once

// Random numbers of the study's distributions: the same on every host with the same C library.

#include "base/random.h"

namespace koord::koordctl::colocation {

double normal(Random& random);
double exponential(Random& random, double mean);
// exp of a normal value, scaled to mean 1.
double lognormal(double normalValue, double sigma);
// Between `low` and `high`, with P(X > x) ~ x^-exponent; `low` if the range is empty.
double boundedPareto(Random& random, double low, double high, double exponent);

}  // namespace koord::koordctl::colocation
