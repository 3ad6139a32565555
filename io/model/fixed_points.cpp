#include "io/model/fixed_points.hpp"

#include <algorithm>
#include <array>

#include "io/schema/json_source.hpp"

namespace carom {

using nlohmann::json;
using namespace spec;

Key fixed_points(bool rotates) {
  std::vector<Word> words = translation_words();
  words.push_back({"translation", "all three translations"});
  json all = json::array({"translation"});
  if (rotates) {
    words.push_back({"rotation", "all three rotations"});
    all.push_back("rotation");
  }
  return preset(
      "fixed",
      list("fixed points",
           object("fixed point",
                  {required("on", one_or_list("points", reference("point of the body", Target::own_points)).unique(),
                            "points of the body: \"node.3\", all \"nodes\", \"start\" and \"end\" of a "
                            "beam, a group of a solid"),
                   preset("directions", one_or_list("directions", choice(words)).unique(), all,
                          "in which they cannot move")})),
      json::array(), "points that cannot move");
}

void fix_points(BuildContext& context, const BodySource& source) {
  const json& list = (*source.json)["fixed"];
  const BodyInfo& info = *source.info;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string pointer = source.pointer + "/fixed/" + std::to_string(i);
    std::array<bool, 6> fixed{};
    for (const json& item : list[i]["directions"]) {
      const std::string word = text(item);
      const int first = word == "rotation" ? 3 : word == "translation" ? 0 : word[0] - 'x';
      std::fill_n(fixed.begin() + first, word == "rotation" || word == "translation" ? 3 : 1, true);
    }
    const bool wholly = std::count(fixed.begin(), fixed.end(), true) == 6;

    std::vector<AttachedPoint> points;
    for (std::size_t k = 0; k < list[i]["on"].size(); ++k) {
      const std::string name = text(list[i]["on"][k]);
      if (const auto set = info.sets.find(name); set != info.sets.end())
        points.insert(points.end(), set->second.points.begin(), set->second.points.end());
      else if (const auto p = info.find_point(name))
        points.push_back(*p);
      else
        context.error(pointer + "/on/" + std::to_string(k), info.unknown_point(name));
    }
    for (const AttachedPoint& p : points) {
      if (p.offset != Vec3::Zero() && !wholly) {
        context.error(pointer,
                      "expected translation and rotation together: the mass centre of the section lies beside its "
                      "axis; use a joint to the ground instead");
        break;
      }
      for (int c = 0; c < 6; ++c)
        if (fixed[static_cast<std::size_t>(c)]) context.model.system.fix(p.node, c);
    }
  }
}

}  // namespace carom
