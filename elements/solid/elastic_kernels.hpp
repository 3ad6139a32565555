// The kernels of the elastic laws.
#pragma once

#include "elements/solid/solid_corotational.hpp"
#include "elements/solid/solid_groups.hpp"
#include "elements/solid/solid_kernel.hpp"

namespace carom::solid {

namespace {

template <class Shape, int extra>
using SaintVenantKirchhoffKernel = HyperelasticKernel<Shape, SaintVenantKirchhoff, extra>;
template <class Shape, int extra>
using NeoHookeanKernel = HyperelasticKernel<Shape, NeoHookean, extra>;

inline InternalForces forces_of(ElasticLaw law, int nodes, bool incompatible_modes) {
  switch (law) {
    case ElasticLaw::saint_venant_kirchhoff:
      return forces_of<SaintVenantKirchhoffKernel>(nodes, incompatible_modes);
    case ElasticLaw::neo_hookean:
      return forces_of<NeoHookeanKernel>(nodes, incompatible_modes);
    case ElasticLaw::corotational:
      break;
  }
  return forces_of<CorotationalKernel>(nodes, incompatible_modes);
}

}  // namespace

}  // namespace carom::solid
