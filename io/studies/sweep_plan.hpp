// The points of a sweep: which values its keys have at each of them.
//
// Values of a key are written as on the command line, after "KEY=":
//
//   a,b,c              a list; words and JSON values too
//   FROM:TO:COUNT      so many numbers at equal distances, ends included; FROM:TO:COUNT:log at equal ratios
//   FROM:TO            an interval, for samples; FROM:TO:log: the logarithm is distributed evenly
//
// A grid has all combinations, the last key varying fastest. A random sample draws every key evenly from its interval
// or its list. A Latin hypercube of N points cuts every interval into N parts of equal probability and draws one value
// from each, in random order, so that every key has the spread of N values however many keys there are [McKay, Beckman,
// Conover, Technometrics 21 (1979) 239]; values of a list occur equally often, up to one. A sample is the same wherever
// and whenever it is drawn: only the seed, the number of points and the place of a key in the list matter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "io/model/model_document.hpp"

namespace carom {

struct SweepKey {
  std::string label;               ///< as given by the user
  std::string pointer;             ///< its place in the model
  std::string unit;                ///< SI; empty if the key has none
  std::vector<std::string> words;  ///< the values of a list or a range; empty: an interval
  double from = 0, to = 0;         ///< the interval
  bool logarithmic = false;        ///< of the interval
};

/// Reads "KEY=VALUES". KEY is a pointer, a key of the integrator section or a parameter. Throws StudyError.
SweepKey sweep_key(const std::string& text, const ModelDocument& document);

enum class Sampling { grid, random, latin_hypercube };

class SweepPlan {
 public:
  static constexpr std::size_t most_points = 1000000;

  /// count: of a sample; without meaning for a grid. Throws StudyError for an interval in a grid, for a key that occurs
  /// twice, and for more than `most_points`.
  SweepPlan(std::vector<SweepKey> keys, Sampling sampling, std::size_t count, std::uint64_t seed);

  const std::vector<SweepKey>& keys() const { return keys_; }
  std::size_t size() const { return size_; }
  /// The values of the keys at point i, counted from 0, as words of a command line.
  std::vector<std::string> point(std::size_t i) const;
  /// The same as overrides "/pointer=value".
  std::vector<std::string> overrides(std::size_t i) const;
  /// All that determines the points.
  nlohmann::json description() const;

 private:
  std::vector<SweepKey> keys_;
  Sampling sampling_;
  std::size_t size_ = 0;
  std::uint64_t seed_;
  std::vector<std::vector<std::string>> samples_;  ///< of each key; empty for a grid
};

}  // namespace carom
