#include "io/studies/bibliography.hpp"

#include <algorithm>

#include "io/model/types/registry.hpp"

namespace carom {

namespace {

constexpr const char* cmame = "Computer Methods in Applied Mechanics and Engineering";
constexpr const char* msd = "Multibody System Dynamics";
constexpr const char* ijnme = "International Journal for Numerical Methods in Engineering";

std::vector<BibliographyEntry> all_entries() {
  std::vector<BibliographyEntry> entries = {
      {"alart_curnier_1991",
       "article",
       {{"author", "Alart, P. and Curnier, A."},
        {"title", "A mixed formulation for frictional contact problems prone to {Newton} like solution methods"},
        {"journal", cmame},
        {"volume", "92"},
        {"number", "3"},
        {"pages", "353--375"},
        {"year", "1991"}}},
      {"arnold_bruels_2007",
       "article",
       {{"author", "Arnold, Martin and Br{\\\"u}ls, Olivier"},
        {"title", "Convergence of the generalized-$\\alpha$ scheme for constrained mechanical systems"},
        {"journal", msd},
        {"volume", "18"},
        {"number", "2"},
        {"pages", "185--202"},
        {"year", "2007"}}},
      {"bruels_acary_cardona_2014",
       "article",
       {{"author", "Br{\\\"u}ls, Olivier and Acary, Vincent and Cardona, Alberto"},
        {"title",
         "Simultaneous enforcement of constraints at position and velocity levels in the nonsmooth "
         "generalized-$\\alpha$ scheme"},
        {"journal", cmame},
        {"volume", "281"},
        {"pages", "131--161"},
        {"year", "2014"}}},
      {"bruels_acary_cardona_2018",
       "incollection",
       {{"author", "Br{\\\"u}ls, Olivier and Acary, Vincent and Cardona, Alberto"},
        {"title", "On the constraints formulation in the nonsmooth generalized-$\\alpha$ method"},
        {"booktitle", "Advanced Topics in Nonsmooth Dynamics"},
        {"publisher", "Springer International Publishing"},
        {"pages", "335--374"},
        {"year", "2018"}}},
      {"bruels_cardona_arnold_2012",
       "article",
       {{"author", "Br{\\\"u}ls, Olivier and Cardona, Alberto and Arnold, Martin"},
        {"title", "{Lie} group generalized-$\\alpha$ time integration of constrained flexible multibody systems"},
        {"journal", "Mechanism and Machine Theory"},
        {"volume", "48"},
        {"pages", "121--137"},
        {"year", "2012"}}},
      {"carpenter_1991",
       "article",
       {{"author", "Carpenter, Nicholas J. and Taylor, Robert L. and Katona, Michael G."},
        {"title", "Lagrange constraints for transient finite element surface contact"},
        {"journal", ijnme},
        {"volume", "32"},
        {"pages", "103--128"},
        {"year", "1991"}}},
      {"chen_2013",
       "article",
       {{"author", "Chen, Qiong-zhong and Acary, Vincent and Virlez, Geoffrey and Br{\\\"u}ls, Olivier"},
        {"title",
         "A nonsmooth generalized-$\\alpha$ scheme for flexible multibody systems with unilateral constraints"},
        {"journal", ijnme},
        {"volume", "96"},
        {"number", "8"},
        {"pages", "487--511"},
        {"year", "2013"}}},
      {"chung_hulbert_1993",
       "article",
       {{"author", "Chung, J. and Hulbert, G. M."},
        {"title",
         "A time integration algorithm for structural dynamics with improved numerical dissipation: The "
         "generalized-$\\alpha$ method"},
        {"journal", "Journal of Applied Mechanics"},
        {"volume", "60"},
        {"number", "2"},
        {"pages", "371--375"},
        {"year", "1993"}}},
      {"cosimo_2020",
       "article",
       {{"author",
         "Cosimo, Alejandro and Galvez, Javier and Cavalieri, Federico J. and Cardona, Alberto and "
         "Br{\\\"u}ls, Olivier"},
        {"title", "A robust nonsmooth generalized-$\\alpha$ scheme for flexible systems with impacts"},
        {"journal", msd},
        {"volume", "48"},
        {"number", "2"},
        {"pages", "127--149"},
        {"year", "2020"}}},
      {"di_stasio_2019",
       "article",
       {{"author", "Di Stasio, Jean and Dureisseix, David and Gravouil, Anthony and others"},
        {"title", "Benchmark cases for robust explicit time integrators in non-smooth transient dynamics"},
        {"journal", "Advanced Modeling and Simulation in Engineering Sciences"},
        {"volume", "6"},
        {"pages", "2"},
        {"year", "2019"}}},
      {"fekak_2017",
       "article",
       {{"author", "Fekak, Fatima-Ezzahra and Brun, Michael and Gravouil, Anthony and Depale, Bruno"},
        {"title", "A new heterogeneous asynchronous explicit--implicit time integrator for nonsmooth dynamics"},
        {"journal", "Computational Mechanics"},
        {"volume", "60"},
        {"pages", "1--21"},
        {"year", "2017"}}},
      {"gear_1985",
       "article",
       {{"author", "Gear, C. W. and Leimkuhler, B. and Gupta, G. K."},
        {"title", "Automatic integration of {Euler--Lagrange} equations with constraints"},
        {"journal", "Journal of Computational and Applied Mathematics"},
        {"volume", "12--13"},
        {"pages", "77--90"},
        {"year", "1985"}}},
      {"geuzaine_remacle_2009",
       "article",
       {{"author", "Geuzaine, Christophe and Remacle, Jean-Fran{\\c{c}}ois"},
        {"title", "{Gmsh}: A 3-{D} finite element mesh generator with built-in pre- and post-processing facilities"},
        {"journal", ijnme},
        {"volume", "79"},
        {"number", "11"},
        {"pages", "1309--1331"},
        {"year", "2009"}}},
      {"hulbert_chung_1996",
       "article",
       {{"author", "Hulbert, Gregory M. and Chung, Jintai"},
        {"title", "Explicit time integration algorithms for structural dynamics with optimal numerical dissipation"},
        {"journal", cmame},
        {"volume", "137"},
        {"number", "2"},
        {"pages", "175--188"},
        {"year", "1996"}}},
      {"jean_1999",
       "article",
       {{"author", "Jean, M."},
        {"title", "The non-smooth contact dynamics method"},
        {"journal", cmame},
        {"volume", "177"},
        {"number", "3--4"},
        {"pages", "235--257"},
        {"year", "1999"}}},
      {"moreau_1988",
       "incollection",
       {{"author", "Moreau, J. J."},
        {"title", "Unilateral contact and dry friction in finite freedom dynamics"},
        {"booktitle", "Nonsmooth Mechanics and Applications"},
        {"editor", "Moreau, J. J. and Panagiotopoulos, P. D."},
        {"series", "CISM Courses and Lectures"},
        {"volume", "302"},
        {"publisher", "Springer"},
        {"address", "Wien"},
        {"pages", "1--82"},
        {"year", "1988"}}},
      {"paoli_schatzman_2002",
       "article",
       {{"author", "Paoli, Laetitia and Schatzman, Michelle"},
        {"title", "A numerical scheme for impact problems {I}: the one-dimensional case"},
        {"journal", "SIAM Journal on Numerical Analysis"},
        {"volume", "40"},
        {"number", "2"},
        {"pages", "702--733"},
        {"year", "2002"}}},
      {"patil_bruels",
       "unpublished",
       {{"author", "Patil, Indrajeet and Br{\\\"u}ls, Olivier"},
        {"title", "Numerical simulation of nonsmooth multibody systems with switching bilateral constraints"},
        {"note", "Department of Aerospace and Mechanical Engineering, University of Li{\\`e}ge"}}},
      {"riks_1979",
       "article",
       {{"author", "Riks, E."},
        {"title", "An incremental approach to the solution of snapping and buckling problems"},
        {"journal", "International Journal of Solids and Structures"},
        {"volume", "15"},
        {"number", "7"},
        {"pages", "529--551"},
        {"year", "1979"}}},
      {"simo_wong_1991",
       "article",
       {{"author", "Simo, Juan C. and Wong, Kachung Kevin"},
        {"title",
         "Unconditionally stable algorithms for rigid body dynamics that exactly preserve energy and momentum"},
        {"journal", ijnme},
        {"volume", "31"},
        {"number", "1"},
        {"pages", "19--52"},
        {"year", "1991"}}},
      {"sonneville_2014",
       "article",
       {{"author", "Sonneville, Valentin and Cardona, Alberto and Br{\\\"u}ls, Olivier"},
        {"title", "Geometrically exact beam finite element formulated on the special {Euclidean} group {SE(3)}"},
        {"journal", cmame},
        {"volume", "268"},
        {"pages", "451--474"},
        {"year", "2014"}}},
      {"taylor_1976",
       "article",
       {{"author", "Taylor, R. L. and Beresford, P. J. and Wilson, E. L."},
        {"title", "A non-conforming element for stress analysis"},
        {"journal", ijnme},
        {"volume", "10"},
        {"number", "6"},
        {"pages", "1211--1219"},
        {"year", "1976"}}},
  };
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
  return entries;
}

}  // namespace

const std::vector<BibliographyEntry>& bibliography() {
  static const std::vector<BibliographyEntry> entries = all_entries();
  return entries;
}

const BibliographyEntry* find_entry(const std::string& key) {
  const auto& all = bibliography();
  const auto it = std::find_if(all.begin(), all.end(), [&](const BibliographyEntry& e) { return e.key == key; });
  return it == all.end() ? nullptr : &*it;
}

std::string bibtex_of(const BibliographyEntry& entry) {
  std::string out = "@" + entry.kind + "{" + entry.key;
  for (const auto& [name, value] : entry.fields) out += ",\n  " + name + " = {" + value + "}";
  return out + "\n}\n";
}

std::vector<UsedReferences> references_of(const Model& model, const nlohmann::json& resolved) {
  std::vector<UsedReferences> used;
  const auto add = [&](const std::string& what, const std::vector<std::string>& keys) {
    const auto same = std::find_if(used.begin(), used.end(), [&](const UsedReferences& u) { return u.what == what; });
    if (keys.empty()) return;
    std::vector<std::string>& list = same != used.end() ? same->keys : used.emplace_back(UsedReferences{what, {}}).keys;
    for (const std::string& key : keys)
      if (std::find(list.begin(), list.end(), key) == list.end()) list.push_back(key);
  };
  const auto add_type = [&](const auto& type, const std::string& noun, const nlohmann::json& value) {
    add(noun + type.type, type.references);
    if (type.option_references != nullptr) add(noun + type.type, type.option_references(value));
  };
  const nlohmann::json& integrator = resolved["integrator"];
  add_type(find_type(integrator_types(), integrator), "integrator ", integrator);
  for (const nlohmann::json& body : resolved["bodies"]) add_type(find_type(body_types(), body), "bodies: ", body);
  // contacts and stops are solved by one augmented Lagrangian, whatever the method
  if (model.system.conditional() > 0) add("contacts", {"alart_curnier_1991"});
  return used;
}

std::string bibliography_text(const std::vector<UsedReferences>& used) {
  std::string out =
      "% the program\n@misc{carom,\n  author = {{The carom authors}},\n"
      "  title = {carom: flexible multibody dynamics with contacts and impacts},\n"
      "  note = {version " CAROM_VERSION "}\n}\n";
  std::vector<std::string> written;
  for (const UsedReferences& u : used) {
    out += "\n% " + u.what + ":";
    for (const std::string& key : u.keys) out += " " + key;
    out += "\n";
    for (const std::string& key : u.keys) {
      if (std::find(written.begin(), written.end(), key) != written.end()) continue;
      written.push_back(key);
      if (const BibliographyEntry* entry = find_entry(key)) out += bibtex_of(*entry);
    }
  }
  return out;
}

}  // namespace carom
