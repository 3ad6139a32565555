#include "io/studies/sweep_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <random>
#include <utility>

#include "io/schema/json_source.hpp"
#include "io/studies/study_words.hpp"

namespace carom {

using nlohmann::json;

namespace {

/// FROM:TO[:COUNT][:log]
struct ListInterval {
  double from = 0, to = 0;
  std::optional<std::size_t> count;
  bool logarithmic = false;
};

/// A word whose first two parts are numbers is a range; nullopt for any other word.
std::optional<ListInterval> interval_of(const std::string& word) {
  const std::vector<std::string> parts = split_words(word, ':');
  if (parts.size() < 2) return std::nullopt;
  const auto from = number_of(parts[0]), to = number_of(parts[1]);
  if (!from || !to) return std::nullopt;
  ListInterval out{*from, *to, std::nullopt, parts.size() > 2 && parts.back() == "log"};
  const std::size_t plain = parts.size() - (out.logarithmic ? 1 : 0);
  const auto wrong = [&](const std::string& reason) {
    return StudyError("--vary: expected FROM:TO:COUNT or FROM:TO:COUNT:log, for samples also without COUNT, got " +
                      in_quotes(word) + reason);
  };
  if (plain > 3) throw wrong("");
  if (plain == 3) {
    const auto count = number_of(parts[2]);
    if (!count || *count != std::floor(*count)) throw wrong("");
    if (*count < 2 || *count > static_cast<double>(SweepPlan::most_points))
      throw wrong(fmt::format(": a count is a number from 2 to {}", SweepPlan::most_points));
    out.count = static_cast<std::size_t>(*count);
  }
  if (out.from == out.to) throw wrong(": its ends are the same");
  if (out.logarithmic && !(out.from > 0 && out.to > 0)) throw wrong(": ends of equal ratios are numbers > 0");
  return out;
}

std::string word_of(double x) { return fmt::format("{}", x); }

/// Value number i of n; the first and the last are the ends.
double value_in(const ListInterval& r, std::size_t i, std::size_t n) {
  const double last = static_cast<double>(n - 1), s = static_cast<double>(i);
  if (i == 0 || i + 1 == n) return i == 0 ? r.from : r.to;
  return r.logarithmic ? r.from * std::pow(r.to / r.from, s / last) : (r.from * (last - s) + r.to * s) / last;
}

/// The value at the share u of an interval or a list; u in [0, 1).
std::string drawn(const SweepKey& key, double u) {
  if (key.words.empty())
    return word_of(key.logarithmic ? key.from * std::pow(key.to / key.from, u) : key.from + (key.to - key.from) * u);
  const double n = static_cast<double>(key.words.size());
  return key.words[std::min(key.words.size() - 1, static_cast<std::size_t>(u * n))];
}

/// Even numbers in [0, 1). The generator is the same in every library; distributions of the library are not.
class Even {
 public:
  Even(std::uint64_t seed, std::size_t stream) {
    std::seed_seq seeds{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32),
                        static_cast<std::uint32_t>(stream)};
    generator_.seed(seeds);
  }
  double operator()() { return static_cast<double>(generator_() >> 11) * 0x1p-53; }

 private:
  std::mt19937_64 generator_;
};

const char* sampling_word(Sampling s) {
  return s == Sampling::grid ? "grid" : s == Sampling::random ? "random" : "latin_hypercube";
}

}  // namespace

SweepKey sweep_key(const std::string& text, const ModelDocument& document) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    throw StudyError(
        "--vary: expected KEY=VALUES, as in step=1e-3,1e-4 or /bodies/0/mass=1:2:11 or radius=0.1:0.2, got " +
        in_quotes(text));
  SweepKey out;
  out.label = text.substr(0, equals);
  out.pointer = pointer_of_key(out.label, "--vary", document, true);
  out.unit = unit_of_key(out.pointer, document);
  const std::string list = text.substr(equals + 1);
  const std::vector<std::string> words = split_words(list, ',');
  for (const std::string& word : words) {
    if (word.empty()) throw StudyError("--vary: expected values between the commas, got " + in_quotes(text));
    const std::optional<ListInterval> range = interval_of(word);
    if (range && !range->count) {
      if (words.size() > 1)
        throw StudyError(fmt::format("--vary: {}: an interval stands alone: expected a COUNT, or no list", word));
      out.from = range->from;
      out.to = range->to;
      out.logarithmic = range->logarithmic;
      return out;
    }
    if (!range) out.words.push_back(word);
    for (std::size_t i = 0; range && i < *range->count; ++i)
      out.words.push_back(word_of(value_in(*range, i, *range->count)));
  }
  std::vector<std::string> sorted = out.words;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end())
    throw StudyError(fmt::format("--vary: {}: expected different values, got {} twice", out.label, *twice));
  return out;
}

SweepPlan::SweepPlan(std::vector<SweepKey> keys, Sampling sampling, std::size_t count, std::uint64_t seed)
    : keys_(std::move(keys)), sampling_(sampling), size_(sampling == Sampling::grid ? 1 : count), seed_(seed) {
  for (std::size_t k = 0; k < keys_.size(); ++k)
    for (std::size_t j = 0; j < k; ++j)
      if (keys_[k].pointer == keys_[j].pointer)
        throw StudyError(fmt::format("--vary: {} is given twice: expected all its values in one list", keys_[k].label));
  if (sampling == Sampling::grid) {
    for (const SweepKey& key : keys_) {
      if (key.words.empty())
        throw StudyError(
            fmt::format("--vary: {}: an interval needs a number of values in a grid: expected {}:{}:COUNT, "
                        "or a sample, by --random or --latin",
                        key.label, key.from, key.to));
      if (size_ > most_points / key.words.size())
        throw StudyError(fmt::format("--vary: the grid has more than {} points", most_points));
      size_ *= key.words.size();
    }
    return;
  }
  for (std::size_t k = 0; k < keys_.size(); ++k) {
    Even even(seed, k);
    std::vector<std::size_t> part(size_);
    std::iota(part.begin(), part.end(), std::size_t{0});
    // Fisher and Yates: every order is as probable as any other
    if (sampling == Sampling::latin_hypercube)
      for (std::size_t i = size_ - 1; i > 0; --i)
        std::swap(part[i], part[std::min(i, static_cast<std::size_t>(even() * static_cast<double>(i + 1)))]);
    std::vector<std::string> values;
    values.reserve(size_);
    for (std::size_t i = 0; i < size_; ++i) {
      const double u = even();
      values.push_back(drawn(keys_[k], sampling == Sampling::random
                                           ? u
                                           : (static_cast<double>(part[i]) + u) / static_cast<double>(size_)));
    }
    samples_.push_back(std::move(values));
  }
}

std::vector<std::string> SweepPlan::point(std::size_t i) const {
  std::vector<std::string> out(keys_.size());
  for (std::size_t k = keys_.size(); k-- > 0;) {
    if (sampling_ != Sampling::grid) {
      out[k] = samples_[k][i];
      continue;
    }
    const std::vector<std::string>& words = keys_[k].words;
    out[k] = words[i % words.size()];
    i /= words.size();
  }
  return out;
}

std::vector<std::string> SweepPlan::overrides(std::size_t i) const {
  std::vector<std::string> out = point(i);
  for (std::size_t k = 0; k < out.size(); ++k) out[k] = keys_[k].pointer + "=" + out[k];
  return out;
}

json SweepPlan::description() const {
  json keys = json::array();
  for (const SweepKey& key : keys_) {
    json entry = {{"key", key.label}, {"pointer", key.pointer}};
    if (key.words.empty()) {
      entry["from"] = key.from;
      entry["to"] = key.to;
      entry["logarithmic"] = key.logarithmic;
    } else {
      entry["values"] = key.words;
    }
    keys.push_back(std::move(entry));
  }
  json out = {{"vary", std::move(keys)}, {"sampling", sampling_word(sampling_)}, {"points", size_}};
  if (sampling_ != Sampling::grid) out["seed"] = seed_;
  return out;
}

}  // namespace carom
