// Probe file while exploring.
#include <doctest/doctest.h>
#include <cstdio>
#include "case_runner.hpp"
#include "rigid_reference.hpp"
using namespace carom; using namespace carom::cases;
TEST_CASE("explore") {
  RigidReference ref = brick_reference();
  ref.advance_to(0.4);
  std::printf("ref %.9f %.9f %.9f E %.9f\n", ref.Omega[0], ref.Omega[1], ref.Omega[2], ref.energy());
  std::vector<double> hs, eo, er;
  for (double h : {1e-3, 5e-4, 2.5e-4, 1.25e-4, 6.25e-5}) {
    Case c("brick", {set("/integrator/step", h), "/integrator/duration=0.4"});
    c.run();
    hs.push_back(h); eo.push_back((c.angular_velocity("brick")-ref.Omega).norm()); er.push_back(angle_between(c.rotation("brick"), ref.R()));
    std::printf("%g Omega %.3e rot %.3e\n", h, eo.back(), er.back());
  }
  std::printf("order %.4f %.4f\n", fitted_order(hs, eo), fitted_order(hs, er));
  RigidReference r2 = brick_reference();
  auto im = r2.advance_to_impact(brick_edges, 0.8, 1.0);
  std::printf("impact %.9f v%d rate %.6f imp %.6f E %.6f vz %.6f Om %.6f %.6f %.6f\n", im.t, im.vertex, im.rate_before, im.impulse, r2.energy(), r2.v.z(), r2.Omega[0], r2.Omega[1], r2.Omega[2]);
  for (double h : {1e-3, 5e-4, 2.5e-4}) {
    Case c("brick", {set("/integrator/step", h), "/integrator/duration=40", "/contacts=[]", "/output/probes=[]"});
    double E0 = c.energy();
    const Vec3 J = brick_reference().J;
    auto L = [&]() { return Vec3(c.rotation("brick") * J.cwiseProduct(c.angular_velocity("brick"))); };
    Vec3 L0 = L();
    double w[8]={0}, e[8]={0}, em[8]={0}; long n=std::lround(40/h), k=0;
    c.run([&](const StepView&) { int i = int(k*8/n); k++; w[i]=std::max(w[i],(L()-L0).norm()/L0.norm()); double d=(c.energy()-E0)/2284.; e[i]=std::max(e[i],std::abs(d)); em[i]+=d/(n/8.);});
    std::printf("h %g  L:",h); for(double x:w) std::printf(" %.2e",x); std::printf("\n   E:"); for(double x:e) std::printf(" %.2e",x); std::printf("\n   Em:"); for(double x:em) std::printf(" %.2e",x); std::printf("\n");
  }
}
