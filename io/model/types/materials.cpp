// Materials by law: keys and what solids make of them.

#include "elements/solid/elastic_laws.hpp"
#include "io/model/types/registry.hpp"

namespace carom {

using nlohmann::json;
using namespace spec;

namespace {

std::vector<Key> elastic_keys() {
  return {required("young", number("pressure").above(0).like(2.1e11), "Young's modulus"),
          preset("poisson", number().above(-1).below(0.5).like(0.3), 0.3, "Poisson's ratio"),
          required("density", number("density").at_least(0), "mass per volume")};
}

template <SolidLaw (*law)(double young, double poisson)>
SolidLaw elastic_law(const json& material) {
  return law(material["young"].get<double>(), material["poisson"].get<double>());
}

}  // namespace

bool is_linear_elastic(const MaterialType& type) { return type.type == "linear_elastic"; }

std::vector<MaterialType> elastic_material_types() {
  return {
      {"linear_elastic", "isotropic Hooke's law; of solids \"saint_venant_kirchhoff\"", elastic_keys,
       elastic_law<saint_venant_kirchhoff>},
      {"saint_venant_kirchhoff",
       "stress linear in Green-Lagrange strain: large rotations and moderate strains; softens when compressed by a "
       "third",
       elastic_keys, elastic_law<saint_venant_kirchhoff>},
      {"corotational", "linear elasticity in the frame that turns with each element", elastic_keys,
       elastic_law<corotational>},
      {"neo_hookean", "compressible neo-Hookean: large strains", elastic_keys, elastic_law<neo_hookean>},
  };
}

}  // namespace carom
