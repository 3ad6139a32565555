// The points of bars and beams: "start", "end", "node.3", all "nodes"; their elements: "element.3".

#include <limits>
#include <numeric>

#include "io/model/types/registry.hpp"
#include "io/schema/json_source.hpp"
#include "io/schema/tolerant_json.hpp"

namespace carom {

using nlohmann::json;
using spec::suggestion;

std::optional<std::int64_t> element_count(const json& body) {
  if (!body.contains("elements") || !body["elements"].is_number_integer()) return std::nullopt;
  const std::int64_t count = body["elements"].get<std::int64_t>();
  return count <= std::numeric_limits<int>::max() ? std::optional(count) : std::nullopt;
}

std::vector<double> line_shares(const std::vector<double>& lengths) {
  const double whole = std::accumulate(lengths.begin(), lengths.end(), 0.0);
  std::vector<double> shares(lengths.size() + 1, 0.0);
  for (std::size_t e = 0; e < lengths.size(); ++e) {
    shares[e] += 0.5 * lengths[e] / whole;
    shares[e + 1] += 0.5 * lengths[e] / whole;
  }
  return shares;
}

std::string line_point_error(const json& body, const std::string* point, PointUse use, const std::string& noun,
                             std::optional<std::int64_t> elements) {
  const std::string name = text_of(body, "name");
  const bool several = use == PointUse::several;
  if (point == nullptr) {
    const std::string is = in_quotes(name) + " is " + noun + ": expected one of its ";
    if (use == PointUse::element) return is + "elements, " + in_quotes(name + ".element.0") + " and so on";
    return is + "points, " + in_quotes(name + ".start") + ", " + in_quotes(name + ".end") + " or " +
           in_quotes(name + ".node.0") + " and so on" +
           (several ? ", or all of them, " + in_quotes(name + ".nodes") : "");
  }
  if (use == PointUse::element) {
    const std::string message = "body " + in_quotes(name) + " has no element " + in_quotes(*point);
    if (is_numbered(*point, "element")) return number_error(*point, "element", elements, message);
    if (!elements) return message + suggestion(*point, {"element.0"});
    return message + "; its elements are element.0 to element." + std::to_string(*elements - 1);
  }
  if (*point == "nodes") {
    if (several) return {};
    return "expected one point, got " + in_quotes(name + ".nodes") + ", which is several";
  }
  if (*point == "start" || *point == "end") return {};
  const std::string message = "body " + in_quotes(name) + " has no point " + in_quotes(*point);
  std::optional<std::int64_t> nodes = elements;
  if (nodes) ++*nodes;
  if (is_numbered(*point, "node")) return elements && *elements < 1 ? "" : number_error(*point, "node", nodes, message);
  std::vector<std::string> words = {"start", "end", "node.0"};
  if (several) words.emplace_back("nodes");
  const std::string nearest = suggestion(*point, words);
  if (nearest.starts_with("; did") || !elements) return message + nearest;
  return message + "; its points are \"start\", \"end\" and \"node.0\" to \"node." + std::to_string(*elements) + "\"" +
         (several ? ", all of them \"nodes\"" : "");
}

}  // namespace carom
