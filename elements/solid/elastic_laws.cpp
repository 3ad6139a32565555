#include "elements/solid/elastic_laws.hpp"

#include "elements/solid/solid_block.hpp"
#include "elements/solid/solid_corotational.hpp"

namespace carom {

namespace {

template <class Shape, int extra>
using SaintVenantKirchhoffKernel = solid::HyperelasticKernel<Shape, solid::SaintVenantKirchhoff, extra>;
template <class Shape, int extra>
using NeoHookeanKernel = solid::HyperelasticKernel<Shape, solid::NeoHookean, extra>;

}  // namespace

SolidLaw saint_venant_kirchhoff(double young, double poisson) {
  return solid::make_law<SaintVenantKirchhoffKernel>(solid::lame(young, poisson));
}

SolidLaw neo_hookean(double young, double poisson) {
  return solid::make_law<NeoHookeanKernel>(solid::lame(young, poisson));
}

SolidLaw corotational(double young, double poisson) {
  return solid::make_law<solid::CorotationalKernel>(solid::lame(young, poisson));
}

}  // namespace carom
