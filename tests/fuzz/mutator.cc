#include "mutator.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace koord::fuzz {

namespace {

constexpr std::size_t kMaxBytes = 64 << 10;
constexpr std::array<std::string_view, 18> kSpecial{"",
                                                    "0",
                                                    "-1",
                                                    "9223372036854775807",
                                                    "-9223372036854775808",
                                                    "18446744073709551616",
                                                    "1e99",
                                                    "null",
                                                    "true",
                                                    "\"\"",
                                                    "{}",
                                                    "[]",
                                                    "\\",
                                                    "\n",
                                                    "\xff",
                                                    "\xf0\x9f\x98\x80",
                                                    "a.b.c/d-e",
                                                    "1Gi"};

bool isWord(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// Words, and everything else byte by byte.
std::vector<std::string> piecesOf(std::string_view text) {
  std::vector<std::string> pieces;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = begin + 1;
    while (isWord(text[begin]) && end < text.size() && isWord(text[end])) ++end;
    pieces.emplace_back(text.substr(begin, end - begin));
    begin = end;
  }
  return pieces;
}

}  // namespace

Mutator::Mutator(std::vector<std::string> corpus) {
  for (const std::string& input : corpus) corpus_.push_back(piecesOf(input));
}

const std::string& Mutator::anyPiece(Random& random) const {
  static const std::string kNone;
  const Pieces& pieces = corpus_[random.below(corpus_.size())];
  return pieces.empty() ? kNone : pieces[random.below(pieces.size())];
}

void Mutator::change(Pieces& pieces, Random& random) const {
  const auto position = [&] { return random.below(pieces.size()); };
  const auto at = [&](std::size_t index) {
    return pieces.begin() + static_cast<std::ptrdiff_t>(index);
  };
  if (pieces.empty()) {
    pieces.push_back(anyPiece(random));
    return;
  }
  const std::size_t first = position(), other = position();
  const auto [begin, end] = std::minmax(first, other);
  switch (random.below(8)) {
    case 0:
      pieces.erase(at(begin), at(std::min(end, begin + 8)));
      break;
    case 1:
      pieces[first] = anyPiece(random);
      break;
    case 2:
      pieces[first] = kSpecial[random.below(kSpecial.size())];
      break;
    case 3:
      std::swap(pieces[first], pieces[other]);
      break;
    case 4: {  // repeats a part, sometimes often
      const Pieces part(at(begin), at(std::min(end, begin + 16)));
      const std::size_t times = random.chance(0.1) ? 200 : 1;
      Pieces repeated;
      for (std::size_t i = 0; i < times; ++i)
        repeated.insert(repeated.end(), part.begin(), part.end());
      pieces.insert(at(begin), repeated.begin(), repeated.end());
      break;
    }
    case 5: {  // a part of another input
      const Pieces& from = corpus_[random.below(corpus_.size())];
      if (from.empty()) break;
      const auto start = from.begin() + static_cast<std::ptrdiff_t>(random.below(from.size()));
      const auto count = std::min<std::ptrdiff_t>(from.end() - start,
                                                  static_cast<std::ptrdiff_t>(random.below(32)));
      pieces.insert(at(first), start, start + count);
      break;
    }
    case 6:
      if (!pieces[first].empty())
        pieces[first][random.below(pieces[first].size())] = static_cast<char>(random.below(256));
      break;
    default:
      pieces.resize(first);
  }
}

std::string Mutator::next(Random& random) const {
  Pieces pieces = corpus_[random.below(corpus_.size())];
  for (std::uint64_t changes = 1 + random.below(6); changes > 0; --changes) change(pieces, random);
  std::string text;
  for (const std::string& piece : pieces) {
    if (text.size() + piece.size() > kMaxBytes) break;
    text += piece;
  }
  return text;
}

}  // namespace koord::fuzz
