// A tapered bar of hexahedra along x: b0 wide (z) at x = 0, b1 at x = L, t thick (y).
L = 0.4; b0 = 0.03; b1 = 0.02; t = 0.016; n = 1;
Point(1) = {0, -t/2, -b0/2}; Point(2) = {L, -t/2, -b1/2}; Point(3) = {L, -t/2, b1/2}; Point(4) = {0, -t/2, b0/2};
Line(1) = {1, 2}; Line(2) = {2, 3}; Line(3) = {3, 4}; Line(4) = {4, 1};
Curve Loop(1) = {1, 2, 3, 4};
Plane Surface(1) = {1};
Transfinite Curve {1, 3} = 24*n + 1;
Transfinite Curve {2, 4} = 4*n + 1;
Transfinite Surface {1};
Recombine Surface {1};
bar[] = Extrude {0, t, 0} { Surface{1}; Layers{2*n}; Recombine; };
Physical Volume("bar") = {bar[1]};
Physical Surface("start") = {bar[5]};
Physical Surface("end") = {bar[3]};
