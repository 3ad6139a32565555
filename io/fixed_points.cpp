#include "io/fixed_points.hpp"

#include "io/json_source.hpp"

namespace carom {

using nlohmann::json;
using namespace spec;

spec::Key fixed_points(bool rotates) {
  std::vector<Word> words = translation_words();
  words.push_back({"translation", "all three translations"});
  if (rotates) words.push_back({"rotation", "all three rotations"});
  return preset(
      "fixed",
      list("fixed points",
           object("fixed point",
                  {
                      required("on", one_or_list("points", reference("point of the body", Target::own_points)).unique(),
                               "points of the body: \"start\", \"node.3\", all \"nodes\""),
                      optional("directions", one_or_list("directions", choice(words)).unique(),
                               "in which they cannot move (default: at all)"),
                  })),
      json::array(), "points that cannot move");
}

void fix_points(BuildContext& context, const BodySource& source, bool rotates) {
  const json& list = (*source.json)["fixed"];
  for (std::size_t i = 0; i < list.size(); ++i) {
    // components, all by default
    std::vector<bool> fixed(6, false);
    if (list[i].contains("directions")) {
      for (const json& item : list[i]["directions"]) {
        const std::string word = text(item);
        const int first = word == "rotation" ? 3 : word == "translation" ? 0 : word[0] - 'x';
        const int count = word == "rotation" || word == "translation" ? 3 : 1;
        std::fill_n(fixed.begin() + first, count, true);
      }
    } else {
      std::fill_n(fixed.begin(), rotates ? 6 : 3, true);
    }

    std::vector<AttachedPoint> points;
    for (const json& on : list[i]["on"]) {
      const std::string name = text(on);
      if (const auto set = source.info->sets.find(name); set != source.info->sets.end())
        points.insert(points.end(), set->second.points.begin(), set->second.points.end());
      else if (const auto p = source.info->find_point(name))
        points.push_back(*p);
    }
    const bool wholly = std::count(fixed.begin(), fixed.end(), true) == 6;
    for (const AttachedPoint& p : points) {
      if (p.offset != Vec3::Zero() && !wholly) {
        context.error(
            source.pointer + "/fixed/" + std::to_string(i),
            "expected translation and rotation together: the mass centre of the section lies beside its axis; "
            "use a joint to the ground instead");
        break;
      }
      for (int c = 0; c < (rotates ? 6 : 3); ++c)
        if (fixed[static_cast<std::size_t>(c)]) context.model.system.fix(p.node, c);
    }
  }
}

}  // namespace carom
