// The papers behind the methods and elements, as BibTeX entries with the keys by which registered types name them.
//
// An entry contains what its paper or the lists of references of later papers say; a field that could not be checked is
// left out. Names are those of the first printed pages, in the notation of LaTeX.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "io/model/model.hpp"

namespace carom {

struct BibliographyEntry {
  std::string key, kind;  ///< kind: "article", "incollection", ...
  std::vector<std::pair<std::string, std::string>> fields;
};

/// All entries, sorted by key.
const std::vector<BibliographyEntry>& bibliography();
/// Null if there is no such entry.
const BibliographyEntry* find_entry(const std::string& key);
/// An entry as BibTeX, with a line break at its end.
std::string bibtex_of(const BibliographyEntry& entry);

/// What a model uses, with the keys of its papers: its method, kinds of bodies, contacts, meshes.
struct UsedReferences {
  std::string what;  ///< "integrator nsga_decoupled"
  std::vector<std::string> keys;
};
std::vector<UsedReferences> references_of(const Model& model, const nlohmann::json& resolved);
/// The text of `carom cite`: the program and every paper once, with comments that say what uses them.
std::string bibliography_text(const std::vector<UsedReferences>& used);

}  // namespace carom
