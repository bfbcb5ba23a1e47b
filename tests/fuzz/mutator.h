#pragma once

// Mutator: makes inputs from those of a corpus, for builds without libFuzzer. Most targets read
// text, so it changes pieces such as words, numbers and brackets: it removes, repeats and swaps
// them, and takes pieces of other inputs. The same seed gives the same inputs.

#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"

namespace koord::fuzz {

class Mutator {
 public:
  // `corpus` is not empty.
  explicit Mutator(std::vector<std::string> corpus);
  std::string next(Random& random) const;

 private:
  using Pieces = std::vector<std::string>;
  void change(Pieces& pieces, Random& random) const;
  const std::string& anyPiece(Random& random) const;

  std::vector<Pieces> corpus_;
};

}  // namespace koord::fuzz
