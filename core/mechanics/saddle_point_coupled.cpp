// SaddlePoint: several sub-problems as one matrix, first the unknowns of all parts, then their rows.

#include "core/mechanics/saddle_point.hpp"

#include "core/base/vector_ops.hpp"
#include "core/linear/projected_cg.hpp"

namespace carom {

void SaddlePoint::analyse_coupled(const System& system, int parts, double length) {
  system_ = &system;
  const SparsePattern& block = system.saddle_pattern();
  const int n = system.size(), rows = system.bilateral(), all = parts * (n + rows);
  const auto place = [&](int part, int i) { return i < n ? part * n + i : parts * n + part * rows + i - n; };
  PatternBuilder builder(all, all);
  const auto for_entries = [&](int p, int q, const auto& visit) {
    for (int i = 0, k = 0; i < block.rows; ++i)
      for (; k < block.row_start[at(i + 1)]; ++k) {
        const int j = block.column[at(k)];
        const bool inside = p == q || j < n;  // reactions and the diagonal of multipliers belong to one part
        visit(inside ? place(p, i) : -1, place(q, j));
      }
  };
  for (int p = 0; p < parts; ++p)
    for (int q = 0; q < parts; ++q)
      for_entries(p, q, [&](int i, int j) {
        if (i >= 0) builder.add(i, j);
      });
  coupled_ = std::make_shared<const SparsePattern>(builder.build());
  block_places_.assign(at(parts * parts), {});
  for (int p = 0; p < parts; ++p)
    for (int q = 0; q < parts; ++q)
      for_entries(p, q,
                  [&](int i, int j) { block_places_[at(p * parts + q)].push_back(i < 0 ? -1 : coupled_->find(i, j)); });
  pattern_ = coupled_.get();
  properties_ = {};
  resize(parts);
  if (n_b_ > 0) set_units(length);
  symmetrised_ = false;
  cg_ = std::make_unique<ProjectedCg>();
  scratch_ = nullptr;
  block_values_.assign(at(block.nonzeros()), 0.0);
  values_.assign(at(pattern_->nonzeros()), 0.0);
  analyse_direct();
}

bool SaddlePoint::factorise(std::span<const Linearisation* const> blocks) {
  set_zero(values_);
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    if (blocks[b] == nullptr) continue;
    system_->assemble(*blocks[b], block_values_);
    const std::vector<int>& places = block_places_[b];
    for (std::size_t k = 0; k < places.size(); ++k)
      if (places[k] >= 0) values_[at(places[k])] += block_values_[k];
  }
  to_units(values_);
  for (int p = 0; p < parts_; ++p) row_scale_[at(p)] = blocks[at(p * (parts_ + 1))]->row_scale;
  for (ActiveRow& row : active_) row.kept = false;
  delassus_known_ = projected_ = false;
  return factorise_directly();
}

}  // namespace carom
