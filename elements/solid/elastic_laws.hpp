// The laws of solids with two constants, Young's modulus E > 0 and Poisson's ratio -1 < nu < 1/2. For small strains
// all of them are Hooke's law; solid_law.hpp has their energies.
#pragma once

#include "elements/solid/solid.hpp"

namespace carom {

SolidLaw saint_venant_kirchhoff(double young, double poisson);
SolidLaw neo_hookean(double young, double poisson);
/// Small strains in the frame that turns with each element.
SolidLaw corotational(double young, double poisson);

}  // namespace carom
