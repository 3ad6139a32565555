// Suggests the name that a user most likely meant: the candidate with the smallest edit distance (insertion, deletion,
// substitution or exchange of neighbours count one), ignoring case, if the distance is at most a third of the length;
// otherwise a candidate with the same beginning or the same stem.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace carom {

/// Edit distance of two short strings (optimal string alignment).
inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitution = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, substitution});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

/// The first of the nearest candidates; empty if no candidate is near.
inline std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
  constexpr std::size_t longest = 64;
  const auto normal = [](std::string_view s) {
    std::string out(s);
    for (char& c : out) c = c == '-' || c == ' ' ? '_' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return out;
  };
  if (name.empty() || name.size() > longest) return {};
  const std::string given = normal(name);

  // few changes
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(1, given.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > longest) continue;
    const std::size_t distance = edit_distance(given, normal(candidate));
    if (distance < best_distance && distance < std::max(given.size(), candidate.size())) {
      best = candidate;
      best_distance = distance;
    }
  }
  if (!best.empty()) return best;

  // the same beginning: "youngs_modulus" for "young", "rho" for "rho_infinity"
  for (const std::string& candidate : candidates) {
    const std::string other = normal(candidate);
    const std::size_t shorter = std::min(other.size(), given.size());
    if (shorter >= 3 && other.compare(0, shorter, given, 0, shorter) == 0) return candidate;
  }

  // the same stem: "gravitation" for "gravity"
  for (const std::string& candidate : candidates) {
    const std::string other = normal(candidate);
    const auto end = std::mismatch(other.begin(), other.end(), given.begin(), given.end()).first;
    const auto same = static_cast<std::size_t>(end - other.begin());
    if (same >= 5 && 3 * same >= 2 * other.size()) return candidate;
  }
  return {};
}

}  // namespace carom
