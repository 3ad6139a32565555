#include "elements/solid/elastic_laws.hpp"

#include "elements/solid/elastic_kernels.hpp"
#include "elements/solid/solid_block.hpp"

namespace carom {

using namespace solid;

InternalForces solid::elastic_forces(ElasticLaw law, int nodes, bool incompatible_modes) {
  return forces_of(law, nodes, incompatible_modes);
}

SolidLaw saint_venant_kirchhoff(double young, double poisson) {
  return make_law<SaintVenantKirchhoffKernel>(ElasticLaw::saint_venant_kirchhoff, lame(young, poisson));
}

SolidLaw neo_hookean(double young, double poisson) {
  return make_law<NeoHookeanKernel>(ElasticLaw::neo_hookean, lame(young, poisson));
}

SolidLaw corotational(double young, double poisson) {
  return make_law<CorotationalKernel>(ElasticLaw::corotational, lame(young, poisson));
}

}  // namespace carom
